// Applies StoreOptions::quarantine, the policy for rows that cannot be encoded, to the streams of a
// run. Any thread may call these functions.
#pragma once

#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/error.h"
#include "encode/store.h"

#include "run_plan/plan.h"

namespace encode {

// Throws Error kConfig "config.quarantine" if the policy cannot be applied to the streams:
// - zeros and drop need chunk files, which the standard mode does not have,
// - drop needs one vector for each row, and streams of a split with equal numbers of rows.
void check_quarantine(const StoreOptions& options, const RunPlan& plan);

// Returns the streams of each split that has any, as indices into RunPlan::streams.
std::vector<std::vector<size_t>> streams_of_splits(const RunPlan& plan);

// Returns the rows that are set aside in any stream of a split, ascending, each once. If a row is
// set aside only in another stream, its message says so. `own` has the rows of each stream.
std::vector<SetAsideRow> rows_of_split(const std::vector<std::string>& names,
                                       const std::vector<std::vector<SetAsideRow>>& own);

// Makes the Error kData "run.rows_set_aside" for streams that have no final matrix because of these
// rows. `folder` holds the chunks of the stream.
Error rows_set_aside_error(const std::string& stream, const std::vector<SetAsideRow>& rows,
                           const std::string& folder);

}  // namespace encode
