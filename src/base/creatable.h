// Finds out whether a directory or a file could be created, without creating it. Any thread may
// call this function.
#pragma once

#include <string>

namespace encode {

// Returns the nearest existing directory at or above `path`. Throws the Error that
// create_directories_durably(path) would throw if something is in its way: a file, a link to
// nothing, a directory that cannot be searched.
std::string first_existing_directory(const std::string& path);

}  // namespace encode
