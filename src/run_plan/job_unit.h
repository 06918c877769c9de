// The work that a job describes for one stream.
#pragma once

#include "encode/job.h"

#include "run_plan/plan.h"

namespace encode {

// Returns the unit of a stream with what its plan decides. The caller sets the chunks, the path of
// the final, and what earlier workers have taught.
JobUnit job_unit(const StreamPlan& stream);

}  // namespace encode
