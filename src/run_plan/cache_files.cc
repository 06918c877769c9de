#include "run_plan/cache_files.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "base/utf8.h"
#include "store/layout.h"
#include "store/run_files.h"

namespace encode {
namespace {

using Form = RunFileKind::Form;

constexpr int64_t kHeadBytes = 64 << 10;

bool is_regular(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) throw system_error("io.stat", "stat", path, errno);
  return S_ISREG(info.st_mode);
}

// Returns true if the file begins as encode writes files of this kind. After power loss it may also
// be empty or hold no text.
bool is_own(const std::string& path, const RunFileKind& kind) {
  if (!is_regular(path)) return false;
  if (kind.has_any_content()) return true;
  const std::string head = read_head(path, kHeadBytes, "io.read");
  if (!may_begin_text(head)) return true;
  if (kind.form == Form::kLog) return begins_like_log(head);
  if (kind.form == Form::kRecords) return head.starts_with(R"({"encode":")");
  return std::any_of(kind.marks.begin(), kind.marks.end(), [&](std::string_view mark) {
    return !mark.empty() && head.find(mark) != std::string::npos;
  });
}

// Returns true if encode has written this file of a cache directory.
bool may_be_removed(const std::string& path, const std::string& name) {
  if (const std::optional<std::string> target = temp_file_target(name))
    return is_regular(path) && run_file_kind(*target) != nullptr;
  const RunFileKind* kind = run_file_kind(name);
  return kind != nullptr && is_own(path, *kind);
}

}  // namespace

// Every record of a log begins with a time: "2026-01-31T12:00:00.000+00:00 info ...".
bool begins_like_log(std::string_view head) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000";
  if (head.size() < kForm.size()) return false;
  return std::equal(kForm.begin(), kForm.end(), head.begin(), [](char form, char c) {
    return form == '0' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : form == c;
  });
}

std::vector<std::string> remove_cache_directory(const std::string& cache_dir,
                                                const std::string& stream) {
  const RunFiles files(cache_dir);
  std::vector<std::string> left;
  remove_chunks(cache_dir, stream);
  for (const std::string& name : list_directory(cache_dir)) {
    const std::string path = join_path(cache_dir, name);
    const RunFileKind* kind = run_file_kind(name);
    const bool is_input = kind != nullptr && kind->form == Form::kStandardInput &&
                          name == stream + std::string(kind->name);
    // NFS keeps an open file that was deleted under such a name.
    if (path == files.lock() || is_input || name.starts_with(".nfs")) continue;
    if (may_be_removed(path, name)) {
      remove_file(path);
    } else {
      left.push_back(name);
    }
  }
  // From here on another run may use the directory.
  remove_file(files.lock());
  if (::rmdir(cache_dir.c_str()) == 0) {
    sync_directory(parent_directory(cache_dir));
  } else if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR && errno != ENOENT) {
    throw system_error("io.remove", "delete folder", cache_dir, errno);
  }
  return left;
}

std::vector<std::string> absent_directories(const std::string& directory) {
  std::vector<std::string> absent;
  const auto is_absent = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found;
  };
  for (std::filesystem::path path = directory; !path.empty() && is_absent(path);
       path = path.parent_path())
    absent.push_back(path.string());
  return absent;
}

bool has_only_records(const std::string& cache_dir) {
  const std::vector<std::string> names = list_directory(cache_dir);
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    const RunFileKind* kind = run_file_kind(name);
    return kind != nullptr && !kind->of_stream();
  });
}

void remove_empty_directories(const std::vector<std::string>& innermost_first) {
  for (const std::string& path : innermost_first) {
    if (::rmdir(path.c_str()) != 0 && errno != ENOENT) return;
  }
}

bool is_store_file(const std::string& directory, const std::string& name) {
  const bool chunks = entry_exists(join_path(directory, kLogFile), "io.stat") ||
                      entry_exists(join_path(directory, kStreamFile), "io.stat");
  if (chunks) return true;
  return run_file_kind(name) != nullptr && entry_exists(RunFiles(directory).lock(), "io.stat");
}

void check_cache_files(const std::string& cache_dir) {
  for (const std::string& name : list_directory(cache_dir)) {
    const RunFileKind* kind = run_file_kind(name);
    if (kind == nullptr) continue;
    const std::string path = join_path(cache_dir, name);
    // Checks the files that a run deletes or replaces: lists of rejected rows and copies of
    // standard input. Other code checks the files that a run appends to.
    bool own = true;
    if (kind->form == Form::kMarked) own = is_own(path, *kind);
    if (kind->of_stream()) own = path_kind(path, "io.stat") != PathKind::kDirectory;
    if (own) continue;
    throw Error(
        {.code = "output.exists",
         .what = "the cache directory has a file that encode did not write",
         .where = path,
         .expected = "no file, or the file of an earlier run",
         .found = "another file",
         .hint =
             "move the file away, or give the run a directory of its own with --cache-dir DIR"});
  }
}

void sweep_cache_files(const std::string& cache_dir) {
  for (const std::string& name : list_directory(cache_dir)) {
    const std::optional<std::string> target = temp_file_target(name);
    const RunFileKind* kind = target ? run_file_kind(*target) : nullptr;
    if (kind != nullptr && (kind->form == Form::kMarked || kind->of_stream()))
      remove_file(join_path(cache_dir, name));
  }
}

}  // namespace encode
