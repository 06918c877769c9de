// The defaults that follow from the values of other keys.
#pragma once

#include <string>

#include "encode/types.h"

namespace encode {

// Names the stream of a run that only flags describe and that has no output file, so that two such
// runs do not meet in one cache directory: by its input, its field ("" for none) and its model, as
// the user has written them. Has at most 160 bytes. Throws no Error.
std::string stream_name_of(const std::string& input, const std::string& field,
                           const std::string& model);

// The other functions get the value of output.file, which is "" if the user has given none. They
// throw no Error.

// The name for the only stream of a run without `data`: the name of the output file without its
// suffix. '_' replaces the characters that a stream's name cannot have.
std::string default_stream_name(const std::string& output);
// Looks at the disk: a directory that an earlier version has begun stays in use.
std::string default_cache_dir(const std::string& output);
// The format that the suffix states, or kNpy.
MatrixFormat default_matrix_format(const std::string& output);

}  // namespace encode
