// Finds the file that the path of a config leads to.
#pragma once

#include <string>

namespace encode {

// Returns `path`, or the file that it leads to if it is a symbolic link: a rename onto a link would
// replace the link. Throws Error "config.file": kNoInput if a link leads to nothing, kNoPermission,
// kIoError. Any thread may call it.
std::string edited_file(const std::string& path);

}  // namespace encode
