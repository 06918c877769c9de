// Names for temporary files.
#pragma once

#include <string>

namespace encode {

// Returns a new path beside `path`, for a temporary file that becomes `path`. temp_file_target()
// recognises such names. Any thread may call it. Throws no Error.
std::string new_temp_path(const std::string& path);

}  // namespace encode
