// The blocks of rows that a shard reads. Any thread may call these functions.
#pragma once

#include <string>

#include "encode/text.h"

#include "run_plan/plan.h"
#include "text/field_blocks.h"

namespace encode {

// Returns the hash of the blocks of a scan that have these rows.
std::string hash_of_blocks(const InputScan& scan, RowRange rows);
// Returns the hashes of the columns of the blocks that have these rows; none if the stream has
// none.
FieldBlocks field_blocks_of(const StreamPlan& stream, RowRange rows);
// Returns one hash of all of them, or "" if there are none.
std::string hash_of_columns(const FieldBlocks& blocks);

}  // namespace encode
