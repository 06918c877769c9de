// Proves that a model is loaded from the bytes that were hashed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "base/file.h"

namespace encode {

// The files of a model directory that were opened, and the content that each of them must have.
//
// hash_model_files() hashes the files in one process, and other code reads them later, perhaps in
// another process. In between a file may be replaced or written to. So this class checks the bytes
// that are really used:
// - A small file is read into memory once, and the hash of this memory is compared.
// - A file of weights stays open, and everything is read from this descriptor. Its content is
//   compared before and after each use, see check_weights().
// Only the content decides: another inode or time stamp alone is never an error.
//
// One thread at a time may use an object. Errors of the checks are kIoError "model.changed".
class OpenedFiles {
 public:
  // With `expected`, the directory has exactly these files with exactly this content. Without it,
  // any content is accepted.
  explicit OpenedFiles(std::optional<std::vector<FileHash>> expected);

  // Returns whether the directory has a file or folder of this name, or nullopt if only the file
  // system knows. Names are as ModelFile::name.
  std::optional<bool> has(const std::string& name) const;
  // Adds a file that was opened. Throws "model.changed" if `expected` does not have the file, or
  // has it with another size.
  void add(const ModelFile& file);
  // Adds a file that does not exist. Throws "model.changed" if `expected` has the file.
  void add_missing(const ModelFile& file) const;
  // Throws "model.changed" if `content` is not what the file should contain.
  void check_content(const std::string& name, std::string_view content) const;
  // Keeps a file of weights open. Throws "model.changed" if it has other content than expected.
  const UniqueFd& keep(const std::string& name, UniqueFd fd);

  // Checks all files of weights, and returns the identity of each. If two calls return the same,
  // then nothing was written to a file between them. A file is hashed only if its identity does not
  // prove its content, so the call usually takes microseconds. Throws "model.changed".
  std::vector<FileKey> check_weights();
  // Returns the descriptor of a file of weights. `path` is TensorInfo::file.
  const UniqueFd& weights(const std::string& path) const;

  std::vector<ModelFile> files() const;  // all files that were opened, sorted by name

 private:
  struct Weights {
    std::string path;
    UniqueFd fd;
    std::optional<FileKey> proven;  // a file with this key has the expected content
  };
  const FileHash& expected(const ModelFile& file) const;
  FileKey check(const std::string& name, Weights& weights) const;

  std::optional<std::map<std::string, FileHash>> expected_;
  std::map<std::string, ModelFile> files_;
  std::map<std::string, Weights> weights_;
};

// The Error "model.changed" for a file that has `found` instead of the content that was hashed.
Error model_changed(const std::string& path, const FileHash& expected, std::string found);

}  // namespace encode
