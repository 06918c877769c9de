// The rows of a merged matrix, which are in several files.
#pragma once

#include <memory>
#include <string>

#include "store/matrix/matrix.h"

namespace encode {

// Opens the matrix that a list of parts (x.parts.json) describes. Its rows are those of the parts,
// in order, and its manifest is that of a run without shards, except that it has no hash. Throws
// what read_parts_list(), read_part_manifests() and open_matrix() throw.
std::unique_ptr<Matrix> open_parts(const std::string& list_path, RowAccess access);

}  // namespace encode
