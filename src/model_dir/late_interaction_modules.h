// Reads the modules of late-interaction models, which have a vector for each token: those of PyLate
// and the MultiVectorEncoder of sentence-transformers 6.
#pragma once

#include <vector>

#include "model_dir/model_folder.h"
#include "model_dir/sentence_modules.h"

namespace encode {

// Returns true for the entries of a late-interaction model. Its first module is a Transformer. In
// addition, one of these is true: the list has a MultiVectorMask; the second module is a Dense of
// PyLate; the second module is a Dense, and the list has no Pooling.
bool is_late_interaction(const std::vector<ModuleEntry>& entries);

// Reads the modules after the Transformer. PyLate uses only the Dense modules and scales every
// vector to length 1 at the end, so a Normalize as the last module changes nothing. A
// MultiVectorEncoder uses all modules. A Normalize in another place is refused. Throws what
// read_modules() throws.
ModuleList read_late_interaction(const ModelFolder& root, const std::vector<ModuleEntry>& entries);

}  // namespace encode
