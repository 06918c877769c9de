#include <ctime>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <optional>
#include <regex>
#include <string>
#include <tuple>

#include "encode/error.h"

#include "base/file.h"
#include "base/hash.h"
#include "config/edit/config_edit.h"
#include "config/edit/edited_file.h"
#include "config/read.h"

namespace encode {
namespace {

constexpr size_t kHashDigits = 16;

// The name of a backup: <file>.backup-20261124-064121-0123456789abcdef. If the last backup has the
// same or a later time, the name has the time of that backup and the next number:
// 20261124-064121.2.
struct Backup {
  std::string path;
  std::string time;
  int number = 1;
  std::string hash;  // the hash of the text that replaced the text in the backup

  bool operator<(const Backup& other) const {
    return std::tie(time, number) < std::tie(other.time, other.number);
  }
};

std::string hash_of(const std::string& text) { return sha256_hex(text).substr(0, kHashDigits); }

std::string path_of(const std::string& file, const Backup& backup) {
  const std::string number = backup.number == 1 ? "" : fmt::format(".{}", backup.number);
  return fmt::format("{}.backup-{}{}-{}", file, backup.time, number, backup.hash);
}

std::optional<Backup> newest_backup(const std::string& file) {
  static const std::regex pattern(R"(\.backup-(\d{8}-\d{6})(?:\.([1-9]\d{0,5}))?-([0-9a-f]{16}))");
  const std::string folder = parent_directory(file);
  const std::string name = std::filesystem::path(file).filename().string();
  std::optional<Backup> newest;
  for (const std::string& other : list_directory(folder)) {
    if (!other.starts_with(name)) continue;
    const std::string rest = other.substr(name.size());
    std::smatch match;
    if (!std::regex_match(rest, match, pattern)) continue;
    Backup backup = {.path = file + rest,
                     .time = match[1],
                     .number = match[2].matched ? std::stoi(match[2]) : 1,
                     .hash = match[3]};
    if (!newest || *newest < backup) newest = std::move(backup);
  }
  return newest;
}

// Replaces a file and keeps its owner and permissions. `check` is called right before.
template <typename Check>
void replace_file(const std::string& file, const std::string& text, const Check& check) {
  AtomicFile next(file, 0);
  next.keep_attributes_of(open_for_reading(file, "config.file"));
  next.write(text.data(), text.size());
  check();
  next.commit();
}

// Stores the old text under a new name, which no file has. Returns its path.
std::string write_backup(const EditedConfig& edited) {
  Backup backup = {.path = "",
                   .time = fmt::format("{:%Y%m%d-%H%M%S}", fmt::gmtime(std::time(nullptr))),
                   .hash = hash_of(edited.new_text)};
  if (const std::optional<Backup> last = newest_backup(edited.file);
      last && backup.time <= last->time) {
    backup.time = last->time;
    backup.number = last->number + 1;
  }
  for (;; ++backup.number) {
    backup.path = path_of(edited.file, backup);
    AtomicFile file(backup.path, 0);
    file.keep_attributes_of(open_for_reading(edited.file, "config.file"));
    file.write(edited.old_text.data(), edited.old_text.size());
    if (file.commit_if_absent()) return backup.path;
  }
}

void require_unchanged(const std::string& file, const std::string& text) {
  if (config_text(file) == text) return;
  throw Error({.code = "config.changed",
               .what = "the config was changed after it was read",
               .where = file,
               .expected = "the text that the edit was made for",
               .found = "another text; it is kept",
               .hint = "run the same command again"});
}

// Removes the backup of an edit that failed, because undo_edit() would take it for the last edit.
// Keeps it if the file was replaced and only the last sync failed. Ignores errors, because the
// caller already reports one.
void remove_unused(const std::string& backup, const EditedConfig& edited) {
  try {
    if (config_text(edited.file) != edited.new_text) remove_file(backup);
  } catch (const Error&) {
    return;
  }
}

[[noreturn]] void refuse_undo(const std::string& file, std::string found, std::string hint) {
  throw Error({.code = "config.undo",
               .what = "the last edit of the config cannot be undone",
               .where = file,
               .expected = "a backup, and the config as the edit left it",
               .found = std::move(found),
               .hint = std::move(hint)});
}

}  // namespace

std::string apply_edit(const std::string& path, const EditedConfig& edited) {
  if (edited_file(path) != edited.file) {
    throw Error({.code = "config.changed",
                 .what = "the config is another file than the one that was read",
                 .where = path,
                 .expected = edited.file,
                 .found = edited_file(path),
                 .hint = "run the same command again"});
  }
  require_unchanged(edited.file, edited.old_text);
  if (edited.new_text == edited.old_text) return "";
  const std::string backup = write_backup(edited);
  try {
    replace_file(edited.file, edited.new_text,
                 [&edited] { require_unchanged(edited.file, edited.old_text); });
  } catch (const Error&) {
    remove_unused(backup, edited);
    throw;
  }
  return backup;
}

std::string undo_edit(const std::string& path) {
  const std::string file = edited_file(path);
  const std::string current = config_text(file);
  const std::optional<Backup> backup = newest_backup(file);
  if (!backup) refuse_undo(file, "no backup", "there is nothing to undo");
  const std::string old_text = config_text(backup->path);
  if (current != old_text) {
    if (hash_of(current) != backup->hash) {
      refuse_undo(
          file, "a config that was changed after the edit",
          fmt::format("compare it with {}, and copy what you want to have back", backup->path));
    }
    replace_file(file, old_text, [&] { require_unchanged(file, current); });
  }
  remove_file(backup->path);
  sync_directory(parent_directory(file));
  return backup->path;
}

}  // namespace encode
