// Resolves paths and symbolic links below one directory, without ever leaving it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include "base/file.h"

namespace encode {

// The open folders from a root to one folder below it. A path is walked name by name. Every folder
// is opened relative to the folder before it, and never through a link. The target of a link is
// read and walked in the same way. ".." goes back to the folder that is open already. So nothing
// outside of the root is reached, even if somebody changes folders and links meanwhile. (openat2()
// with RESOLVE_BENEATH does the same, but needs Linux 5.6, and refuses absolute links that lead to
// a place below the root.)
//
// Copies share the open folders. Any thread may use a chain.
class FolderChain {
 public:
  // `root` is an absolute path without links. Throws Error "model.open" if it cannot be opened.
  explicit FolderChain(std::string root);

  struct Entry;
  // Walks to `path`, which is relative to the last folder of the chain. Throws no Error.
  Entry resolve(std::string_view path) const;

  int fd() const { return folders_.back()->get(); }  // the descriptor of the last folder
  const std::string& root() const { return root_; }

 private:
  class Walk;

  std::string root_;
  std::vector<std::shared_ptr<UniqueFd>> folders_;
};

// The entry at the end of a path.
struct FolderChain::Entry {
  enum class Kind {
    kFound,
    kNothing,   // nothing under this name; with a `link`: the link points to nothing
    kOutside,   // a link leads out of the root
    kLinkLoop,  // more than 40 links
    kFailed,    // `error_number` has the reason
  };
  Kind kind = Kind::kNothing;
  mode_t mode = 0;        // the kind of file; never a link
  std::string name = {};  // in the last folder of `folder`; "" if the entry is that folder
  FolderChain folder;     // the folder that the entry is in, or the entry itself
  std::string link = {};  // the target of the last link on the way; "" if there was none
  int error_number = 0;
};

}  // namespace encode
