#include "store/power_loss.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <utility>

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDirectory = -1;

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// One change of the content of a file.
struct Piece {
  int64_t offset = 0;
  std::string bytes;
  int64_t size = -1;  // the new size; -1: the change is a write

  void apply(std::string& content) const {
    if (size >= 0) return content.resize(static_cast<size_t>(size));
    const auto end = static_cast<size_t>(offset) + bytes.size();
    if (content.size() < end) content.resize(end);
    content.replace(static_cast<size_t>(offset), bytes.size(), bytes);
  }
};

// One change of the names in a directory. A rename removes one name and adds another.
struct Naming {
  std::string directory;
  std::string removed;
  std::string added;
  int64_t file = 0;

  void apply(std::map<std::string, int64_t>& names) const {
    if (!removed.empty()) names.erase(removed);
    if (!added.empty()) names[added] = file;
  }
};

// A disk: what is safe on it, and the changes that are not safe yet.
class Disk {
 public:
  void write(int64_t file, Piece piece) { files_[file].pending.push_back(std::move(piece)); }
  void name(Naming naming) { namings_.push_back(std::move(naming)); }

  void sync_file(int64_t file) {
    File& synced = files_[file];
    for (const Piece& piece : synced.pending) piece.apply(synced.content);
    synced.pending.clear();
  }
  void sync_directory(const std::string& path) {
    std::vector<Naming> others;
    for (Naming& naming : namings_) {
      if (naming.directory == path) {
        naming.apply(names_);
      } else {
        others.push_back(std::move(naming));
      }
    }
    namings_ = std::move(others);
  }

  // Decides what becomes of everything that is not safe.
  void lose_power(uint32_t seed) {
    std::mt19937 random(seed);
    for (auto& [number, file] : files_) {
      for (Piece& piece : file.pending) apply_some(piece, random, file.content);
    }
    for (const Naming& naming : namings_) {
      if (random() % 2 == 0) naming.apply(names_);
    }
  }

  void write_to(const std::string& folder) const {
    fs::create_directories(folder);
    // The map is sorted, so a folder comes before its files.
    for (const auto& [name, file] : names_) {
      const std::string path = fmt::format("{}/{}", folder, name);
      if (!fs::exists(fs::path(path).parent_path())) continue;  // its folder is lost
      if (file == kDirectory) {
        fs::create_directory(path);
      } else {
        const auto found = files_.find(file);
        write_bytes(path, found == files_.end() ? "" : found->second.content);
      }
    }
  }

 private:
  struct File {
    std::string content;  // what is safe
    std::vector<Piece> pending;
  };

  // Keeps the piece, loses it, cuts it, or replaces its bytes by zeros or by bytes of a binary
  // file, which a reused block of a disk may have.
  static void apply_some(Piece& piece, std::mt19937& random, std::string& content) {
    switch (random() % 4) {
      case 0:
        return;
      case 1:
        if (piece.size < 0) piece.bytes.resize(piece.bytes.size() / 2);
        break;
      case 2:
        if (piece.size < 0)
          piece.bytes.assign(piece.bytes.size(), random() % 2 == 0 ? '\0' : '\xf8');
        break;
      default:
        break;
    }
    piece.apply(content);
  }

  std::map<int64_t, File> files_;
  std::map<std::string, int64_t> names_;
  std::vector<Naming> namings_;  // the changes of names that are not safe
};

}  // namespace

std::string WriteList::relative(std::string_view path) const {
  return std::string(path.substr(std::min(path.size(), root_.size() + 1)));
}

// Returns the number of the file that the change is about. Inodes are not such numbers, because a
// new file may get the inode of a deleted file.
int64_t WriteList::file_of(const Change& change, const std::string& path) {
  if (change.kind == Change::Kind::kCreate && !names_.contains(path))
    files_[change.inode] = ++file_count_;
  const auto [file, is_new] = files_.try_emplace(change.inode, file_count_ + 1);
  if (is_new) ++file_count_;
  return file->second;
}

void WriteList::add(const Change& change) {
  Item item = {.kind = change.kind,
               .path = relative(change.path),
               .new_path = relative(change.new_path),
               .file = 0,
               .offset = change.offset,
               .bytes = std::string(change.bytes),
               .size = change.size};
  switch (change.kind) {
    case Change::Kind::kCreate:
      item.file = file_of(change, item.path);
      if (names_.contains(item.path)) return;  // the file existed
      names_[item.path] = item.file;
      break;
    case Change::Kind::kMakeDirectory:
      if (item.path.empty()) return;
      names_[item.path] = item.file = kDirectory;
      break;
    case Change::Kind::kRename:
      names_[item.new_path] = item.file = names_.at(item.path);
      names_.erase(item.path);
      break;
    case Change::Kind::kUnlink:
      names_.erase(item.path);
      break;
    case Change::Kind::kSync: {
      const auto name = names_.find(item.path);
      const bool directory =
          item.path.empty() || (name != names_.end() && name->second == kDirectory);
      item.file = directory ? kDirectory : file_of(change, item.path);
      break;
    }
    default:
      item.file = file_of(change, item.path);
  }
  changes_.push_back(std::move(item));
}

void WriteList::lose_syncs(const std::function<bool(const std::string& path)>& lost) {
  const auto is_lost = [&](const Item& item) {
    return item.kind == Change::Kind::kSync && lost(item.path);
  };
  changes_.erase(std::remove_if(changes_.begin(), changes_.end(), is_lost), changes_.end());
}

void WriteList::write_disk(size_t count, uint32_t seed, const std::string& to) const {
  Disk disk;
  for (size_t i = 0; i < count; ++i) {
    const Item& item = changes_[i];
    switch (item.kind) {
      case Change::Kind::kCreate:
      case Change::Kind::kMakeDirectory:
        disk.name({parent_of(item.path), "", item.path, item.file});
        break;
      case Change::Kind::kRename:
        disk.name({parent_of(item.path), item.path, item.new_path, item.file});
        break;
      case Change::Kind::kUnlink:
        disk.name({parent_of(item.path), item.path, "", 0});
        break;
      case Change::Kind::kWrite:
        disk.write(item.file, {.offset = item.offset, .bytes = item.bytes});
        break;
      case Change::Kind::kResize:
        disk.write(item.file, {.offset = 0, .bytes = "", .size = item.size});
        break;
      case Change::Kind::kSync:
        if (item.file == kDirectory) {
          disk.sync_directory(item.path);
        } else {
          disk.sync_file(item.file);
        }
        break;
    }
  }
  disk.lose_power(seed);
  disk.write_to(to);
}

}  // namespace encode::testing
