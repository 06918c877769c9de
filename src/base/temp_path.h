// Names for temporary files.
#pragma once

#include <string>

namespace encode {

// Returns a path beside `path` for a temporary file of it, which no other file has.
// temp_file_target() knows such a name. Any thread may call it.
std::string new_temp_path(const std::string& path);

}  // namespace encode
