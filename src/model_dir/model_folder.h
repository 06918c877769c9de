// The only way in which files of a model directory are opened.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "encode/model_directory.h"

#include "base/file.h"
#include "base/json.h"

namespace encode {

// ^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$: one component, never "..", never hidden, never absolute.
bool is_safe_name(std::string_view name);

// A directory and its one level of module folders. Names that come from files are checked against
// is_safe_name(); opening never follows a symbolic link, never blocks, and takes regular files
// alone. The one exception is the Hugging Face cache, <cache>/models--org--name/snapshots/<commit>:
// there a link is followed if its target stays below models--org--name.
//
// Every file that is opened is recorded: what was read is what can change a result. Copies share
// the record.
class ModelFolder {
 public:
  // Throws Error "model.missing" (kNoInput) where `path` is not a directory.
  static ModelFolder open(const std::string& path);

  // Throws Error "model.name" for an unsafe name, "model.missing" where it is absent,
  // "model.symlink".
  ModelFolder subfolder(const std::string& name) const;

  bool has(const std::string& name)
      const;  // true for a dangling link too, so that open_file() can complain
  // Throws Error: "model.missing", "model.name", "model.symlink", "model.not_a_file".
  UniqueFd open_file(const std::string& name) const;
  // Whole file as strict JSON. `code` is the error's code for malformed JSON.
  Json read_json(const std::string& name, const JsonLimits& limits, std::string_view code) const;
  std::string read_text(const std::string& name, int64_t max_bytes, std::string_view code) const;

  std::vector<std::string> list() const;             // names, sorted, at most kMaxFolderEntries
  const std::string& path() const { return path_; }  // absolute, links resolved
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  std::vector<ModelFile> opened_files() const;  // of this folder and its subfolders, sorted by name

 private:
  using Record = std::map<std::string, ModelFile>;
  ModelFolder() = default;
  UniqueFd open_link(const std::string& name) const;

  std::string path_;
  std::string prefix_;     // "" or "1_Pooling/"
  std::string link_root_;  // links may point below this directory; empty: no links
  std::shared_ptr<UniqueFd> fd_;
  std::shared_ptr<Record> record_;
};

}  // namespace encode
