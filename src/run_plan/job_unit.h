// Makes the units of a job: the work that the job describes for one stream.
#pragma once

#include "encode/job.h"

#include "run_plan/plan.h"

namespace encode {

// Returns the unit of a stream with what its plan decides. The caller sets the chunks, the path of
// the final matrix, and what the failures of earlier workers have shown. Any thread may call it.
// Throws no Error.
JobUnit job_unit(const StreamPlan& stream);

}  // namespace encode
