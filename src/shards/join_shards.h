// `encode merge --parts one`: writes one matrix of the parts of all shards.
#pragma once

#include <vector>

#include "encode/config.h"

#include "run_record/terminal.h"
#include "shards/merge.h"

namespace encode {

// Writes each matrix to the place where an undivided run has it, with the same bytes. The parts of
// the attempts are read once and stay as they are. Damage is found before a matrix is published.
// The matrices must be .npy files: throws Error kConfig "shards.config" if they are tables. Throws
// what merge_shards() throws.
std::vector<MergedMatrix> join_shards(const RunConfig& config, Terminal& err, Terminal& out);

}  // namespace encode
