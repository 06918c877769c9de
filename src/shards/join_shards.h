// `encode merge` with `output.parts: one`: writes one matrix of the parts of all shards.
#pragma once

#include <vector>

#include "encode/config.h"

#include "run_record/terminal.h"
#include "shards/merge.h"

namespace encode {

// Throws Error kConfig "shards.config" if the matrices are tables, which cannot be joined.
void require_joinable(const RunConfig& config);

// Writes each matrix to the place where an undivided run has it, with the same bytes. Keeps a
// matrix that was made of the same parts before. The parts of the attempts stay as they are. Damage
// is found before a matrix is published. Throws what require_joinable() and merge_shards() throw.
std::vector<MergedMatrix> join_shards(const RunConfig& config, Terminal& err, Terminal& out);

// Returns true if join_shards() has published the parts that the shards have now. Compares no hash
// of a matrix. Throws what join_shards() throws if a part is missing.
bool is_joined(const RunConfig& config);

}  // namespace encode
