// Final matrices that are tables (Parquet, Arrow): what they need, and their columns besides the
// vectors. Any thread may call these functions.
#pragma once

#include <vector>

#include "encode/config.h"
#include "encode/store.h"

#include "run_plan/plan.h"

namespace encode {

// Does nothing if the final matrices are .npy files. Throws Error before a run does any work:
//   kUnavailable "arrow.plugin"       the plugin for Arrow is missing
//   kConfig "output.token_vectors"    a stream has token embeddings, which cannot be rows of a
//   table
void require_tables(const StoreOptions& store, const std::vector<StreamPlan>& streams);

// Throws what require_fields() throws if the input of a stream lacks a column. `scan` must be set.
// Does nothing for a shard.
void require_columns(const StoreOptions& store, const StreamPlan& stream);

// Reads the columns that the final matrix copies from the input, for StreamPlan::field_blocks.
// Reads nothing if there are none. Throws what hash_fields() throws.
FieldBlocks hash_columns(const StoreOptions& store, const StreamPlan& stream);

// Returns a function that opens the input of the stream again, for the columns of the final matrix.
// `stream` must outlive the function.
ColumnOpener columns_of(const StoreOptions& store, const StreamPlan& stream);

}  // namespace encode
