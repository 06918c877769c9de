// Opens the files of a model directory. No other code opens them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encode/error_code.h"
#include "encode/model_directory.h"

#include "base/file.h"
#include "base/json.h"
#include "model_dir/folder_chain.h"
#include "model_dir/opened_files.h"

namespace encode {

// Returns true if the name matches ^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$. Such a name is one component
// of a path, and is never "..", hidden or absolute.
bool is_safe_name(std::string_view name);

// A directory and the module folders in it. Names that come from files must pass is_safe_name().
// Opening a file never blocks, and refuses everything but regular files. A symbolic link is
// followed if it stays inside the directory (FolderChain), as in a volume of Kubernetes, where
// config.json is a link to ..data/config.json. In a snapshot of the Hugging Face cache,
// <cache>/models--org--name/snapshots/<commit>, a link may lead to any place below
// models--org--name.
//
// Every file that is opened is recorded in an OpenedFiles, because every file that is read can
// change a result. If the OpenedFiles has a list of files with their hashes, a file that is not in
// the list counts as absent, and the functions that read throw "model.changed" for other content.
// Copies share the record. One thread at a time may use a folder and its copies and subfolders. The
// errors have the exit code kConfig, except "model.missing" and "model.not_a_file" (kNoInput) and
// "model.open", which a failed system call gives (exit_code_for_errno()).
class ModelFolder {
 public:
  // Without `opened` the folder makes a record of its own. Throws Error "model.missing" if there is
  // no such directory, and "model.open" if it cannot be opened.
  static ModelFolder open(const std::string& path, std::shared_ptr<OpenedFiles> opened);

  // `path` is a name such as "1_Pooling", or several: "extra/2_Dense". Throws Error: "model.name"
  // if a name is not safe, "model.missing" if the folder does not exist, "model.symlink" if a
  // symbolic link leads out of the directory.
  ModelFolder subfolder(const std::string& path) const;
  // Returns whether the folder exists. Throws what subfolder() throws, except "model.missing".
  bool has_folder(const std::string& path) const;

  // Returns true also for a link without a target, so that open_file() can refuse it. Throws Error
  // "model.name", and "model.open" if the file system does not say whether the name exists.
  bool has(const std::string& name) const;
  // Throws Error: "model.missing", "model.name", "model.symlink", "model.not_a_file".
  UniqueFd open_file(const std::string& name) const;
  // Opens a file of weights, which stays open as long as the OpenedFiles exists. Throws what
  // open_file() throws.
  const UniqueFd& open_weights(const std::string& name) const;
  // These functions read a whole file. read_json() parses it as strict JSON. Both throw what
  // open_file() throws, and Error `code` if the file is too large or not valid JSON.
  Json read_json(const std::string& name, const JsonLimits& limits, ErrorCode code) const;
  std::string read_text(const std::string& name, int64_t max_bytes, ErrorCode code) const;

  // Returns the names in the folder, sorted, at most kMaxFolderEntries of them. Throws Error
  // "model.open" if the folder cannot be read.
  std::vector<std::string> list() const;
  const std::string& path() const { return path_; }  // absolute, links resolved
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  const std::shared_ptr<OpenedFiles>& opened() const { return opened_; }

 private:
  ModelFolder(FolderChain chain, std::string path)
      : chain_(std::move(chain)), path_(std::move(path)) {}
  bool has_entry(const std::string& path) const;
  // Throws Error for an entry that is not kFound.
  void require_found(const FolderChain::Entry& entry, const std::string& name) const;

  FolderChain chain_;
  std::string path_;
  std::string prefix_;  // "" or "1_Pooling/"
  std::shared_ptr<OpenedFiles> opened_;
};

}  // namespace encode
