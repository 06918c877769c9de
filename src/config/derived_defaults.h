// Defaults that depend on the values of other keys. Any thread may call these functions.
#pragma once

#include <string>

#include "encode/types.h"

namespace encode {

// Returns the name of the stream of a run that only flags describe and that has no output file. It
// is made from the input, the field or template ("" for none) and the model, as the user has
// written them, so that two such runs do not share chunks. Has at most 160 bytes. Throws no Error.
std::string stream_name_of(const std::string& input, const std::string& field,
                           const std::string& model);

// The other functions get the value of output.file, which is "" if the user has given none. They
// throw no Error.

// Returns the name for the only stream of a run without `data`: the name of the output file without
// its suffix. '_' replaces the characters that a stream's name cannot have.
std::string default_stream_name(const std::string& output);
// Returns the cache directory. If an earlier version has begun a directory at another place, which
// the function looks for on the disk, returns that directory.
std::string default_cache_dir(const std::string& output);
// Returns the format of the suffix, or kNpy.
MatrixFormat default_matrix_format(const std::string& output);

}  // namespace encode
