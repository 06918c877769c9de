// Reads the modules of late-interaction models, which have a vector for each token: those of PyLate
// and the MultiVectorEncoder of sentence-transformers 6.
#pragma once

#include <vector>

#include "model_dir/model_folder.h"
#include "model_dir/sentence_modules.h"

namespace encode {

// True for the entries of a late-interaction model: there is a MultiVectorMask, or the first module
// after the Transformer works on the vectors of tokens, because no Pooling comes before it.
bool is_late_interaction(const std::vector<ModuleEntry>& entries);

// Reads the modules after the Transformer. PyLate leaves out all modules but Dense and scales every
// vector to length 1 at the end, so that a Normalize changes nothing as the last module. A
// MultiVectorEncoder does what the list says. A Normalize in another place is refused. Throws what
// read_modules() throws.
ModuleList read_late_interaction(const ModelFolder& root, const std::vector<ModuleEntry>& entries);

}  // namespace encode
