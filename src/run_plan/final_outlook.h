// Says what a run will do with the final matrix of a stream if it exists already. Changes no file.
// Any thread may call these functions.
#pragma once

#include <string>

#include "encode/config.h"
#include "encode/store.h"

#include "run_plan/plan.h"

namespace encode {

// Returns first_difference() between an earlier run of the stream and this one, with the names of
// the models and the inputs as far as they are recorded. Throws no Error.
std::string what_differs(const StreamIdentity& earlier, const StoreOptions& options,
                         const StreamPlan& stream);
// Returns how a user names another place for the result of a run with this stream: "another
// --output FILE".
std::string another_output(const StoreOptions& options, const StreamConfig& stream);
// Returns the hint for a run with this stream that would replace the result of another run.
std::string fresh_hint(const StoreOptions& options, const StreamConfig& stream);

struct FinalOutlook {
  FinalState state = FinalState::kAbsent;  // of the final matrix; never kForeign
  bool fits_quarantine = false;            // only if `state` is kValid
  bool has_format = false;                 // only if `state` is kValid
  // The path of the float32 final matrix that the run converts: this matrix, or a matrix in another
  // file format; "" if the run converts none.
  std::string convert_from = {};

  // Returns true if nothing is left to encode for this matrix.
  bool complete() const {
    return (state == FinalState::kValid && fits_quarantine && has_format) || !convert_from.empty();
  }
};

// Without `check_hash`, a final matrix is valid if its size and its manifest are right. Throws
// Error kConfig "run.foreign_final", and what final_state() throws.
FinalOutlook final_outlook(const StoreOptions& options, const StreamPlan& stream, bool check_hash);

// Returns true if a stream in standard mode has all its float32 rows, and only their conversion to
// the final format is left.
bool has_standard_rows(const StoreOptions& options, const StreamPlan& stream);

}  // namespace encode
