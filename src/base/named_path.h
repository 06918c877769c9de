// Explains to users why a path that they have named leads to nothing. Any number of threads may
// call these functions.
#pragma once

#include <string>

#include "encode/error_code.h"

#include "base/file.h"

namespace encode {

// Returns "a symbolic link to 'x', which does not exist" if the path is a symbolic link that leads
// to nothing, or else "". Throws no Error.
std::string describe_dangling_link(const std::string& path);

// Returns "; relative paths start at the current directory, /data" for a relative path, and "" for
// an absolute one. Throws no Error.
std::string start_of_relative_path(const std::string& path);

// Throws Error `code` (kNoInput) if the path leads to nothing. The error names the folder in which
// the file was looked for, and a file of a similar name in this folder. Throws what path_kind()
// throws.
void require_named_file(const std::string& path, ErrorCode code);

// Opens a file that a user has named. Throws what require_named_file() and open_for_reading()
// throw.
UniqueFd open_named_file(const std::string& path, ErrorCode code);

}  // namespace encode
