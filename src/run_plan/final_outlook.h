// What a run will do with the final of a stream that exists already. Changes no file.
#pragma once

#include <string>

#include "encode/config.h"
#include "encode/store.h"

#include "run_plan/plan.h"

namespace encode {

// Returns the hint for a run that would replace the result of another run.
std::string fresh_hint(const StoreOptions& options);

struct FinalOutlook {
  FinalState state = FinalState::kAbsent;  // of the final; never kForeign
  bool fits_quarantine = false;            // only if `state` is kValid
  bool has_format = false;                 // only if `state` is kValid
  // The float32 final that the run converts: this one, or one of another file format. "": none.
  std::string convert_from = {};

  // Nothing is left to encode for this final.
  bool complete() const {
    return (state == FinalState::kValid && fits_quarantine && has_format) || !convert_from.empty();
  }
};

// Without `check_hash`, a final is valid if its size and its manifest are right. Throws Error
// kConfig "run.foreign_final", and what final_state() throws.
FinalOutlook final_outlook(const StoreOptions& options, const StreamPlan& stream, bool check_hash);

// Returns true if a stream in standard mode has its rows, which lack only their final format.
bool has_standard_rows(const StoreOptions& options, const StreamPlan& stream);

}  // namespace encode
