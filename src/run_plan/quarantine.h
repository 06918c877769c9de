// What StoreOptions::quarantine means for the streams of a run.
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

// The streams of each split that has any, as indices into RunPlan::streams.
std::vector<std::vector<size_t>> streams_of_splits(const RunPlan& plan);

// Returns the rows that any stream of a split has set aside, ascending, each once. A row that
// another stream has set aside says so in its message. `own` has the rows of each stream.
std::vector<SetAsideRow> rows_of_split(const std::vector<std::string>& names,
                                       const std::vector<std::vector<SetAsideRow>>& own);

// The Error kData "run.rows_set_aside" for streams that have no final because of these rows.
// `folder` holds the chunks of the stream.
Error rows_set_aside_error(const std::string& stream, const std::vector<SetAsideRow>& rows,
                           const std::string& folder);

}  // namespace encode
