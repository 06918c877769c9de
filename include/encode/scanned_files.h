// The files of an input, as a pass over them has found them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "encode/path_list.h"

namespace encode {

// One file of an input.
struct ScannedFile {
  std::string path;
  int64_t first_row = 0;  // the number of accepted rows of the files before it
  int64_t bytes = 0;      // the size of the file as it is stored, compressed or not
  std::string sha256;     // 64 hex digits, of the file as it is stored; "": not known
  // Of the file when the scan opened it; see require_unchanged().
  int64_t inode = 0;
  int64_t mtime_ns = 0;
  bool operator==(const ScannedFile&) const = default;
};

// Files in the order in which they are read. A file takes about 100 bytes. Copies share the memory
// until one of them is changed. Any thread may call the const functions.
class ScannedFiles {
 public:
  using value_type = ScannedFile;
  using const_iterator = MadeItems<ScannedFiles, ScannedFile>;

  ScannedFiles();

  size_t size() const;
  bool empty() const { return size() == 0; }
  ScannedFile operator[](size_t index) const;  // `index` is below size()
  ScannedFile front() const { return (*this)[0]; }
  ScannedFile back() const { return (*this)[size() - 1]; }
  const_iterator begin() const { return {*this, 0}; }
  const_iterator end() const { return {*this, size()}; }
  int64_t bytes() const;  // the sizes of all files
  // Returns the index of the last file that begins with this row or before it. The first file must
  // begin there, too.
  size_t index_of_row(int64_t row) const;
  bool operator==(const ScannedFiles& other) const;

  // Throws Error kInternal "store.misuse" if `sha256` is neither "" nor 64 lower-case hex digits.
  void push_back(const ScannedFile& file);
  void clear();

 private:
  struct Content;
  std::shared_ptr<Content> content_;
};

// Inputs of more files than this have a list of them in a file of its own (store/file_list.h).
// Fingerprints, jobs and manifests have what identifies the list, not the files.
inline constexpr int64_t kMostUnlistedFiles = 10'000;

// A list of files, and the place of the file that holds it.
struct FileList {
  std::string path = {};  // "": not written, or not known on this machine
  int64_t files = 0;
  int64_t bytes = 0;            // of all files
  std::string first_path = {};  // of the first file
  // The hash of the compressions, sizes and hashes of the files. It does not depend on their paths,
  // so that moved files keep their cache.
  std::string sha256 = {};
  // The checksum of the index, which has the checksums of all pages; see store/file_list.h.
  std::string root = {};
  bool operator==(const FileList&) const = default;
};

// The files [begin, end) of a list.
struct ListedFiles {
  FileList list;
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const ListedFiles&) const = default;
};

}  // namespace encode
