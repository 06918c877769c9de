// Finds out whether a directory or a file could be created, and creates neither.
#pragma once

#include <string>

namespace encode {

// Returns the directory that exists already and in which create_directories_durably(path) would
// begin: `path` itself, or one above it. Throws the Error that create_directories_durably() would
// throw for what is on the way: a file, a link to nothing, a directory that cannot be searched.
std::string first_existing_directory(const std::string& path);

}  // namespace encode
