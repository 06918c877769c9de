// `encode plan --profile`: runs the real model with the planned settings and measures it.
#pragma once

#include <cstdint>
#include <string>

#include "encode/config.h"

#include "plan/experiment_plan.h"
#include "run_record/terminal.h"
#include "supervisor/run.h"

namespace encode {

struct ProfileResult {
  int stopped_by = 0;  // the signal that stopped it; 0: the other fields are set
  std::string device = {};
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t estimated_bytes = 0;  // the estimate for the same rows
  int64_t measured_bytes = 0;   // the measured peak
  double tokens_per_second = 0;
  double flops_per_second = 0;
  std::string stored = {};  // the file in which the profile was stored, or ""
};

// Encodes the first rows of the first stream in a temporary folder, and adds the result to the
// user's profiles. Must be called from the main thread. Throws what run_experiment(), ScratchFolder
// and Profiles::add() throw, and Error kUsage "plan.profile" if the plan is for a card that is not
// in this machine.
ProfileResult profile_plan(const PlanRequest& request, const ExperimentPlan& plan,
                           const RunEnvironment& environment, Terminal& err);

}  // namespace encode
