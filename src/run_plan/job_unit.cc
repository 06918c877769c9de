#include "run_plan/job_unit.h"

namespace encode {

JobUnit job_unit(const StreamPlan& stream) {
  JobUnit unit;
  unit.identity = stream.identity;
  unit.input = stream.config.input;
  unit.scan = stream.scan;
  unit.speed = stream.config.speed;
  unit.model_path = stream.model_path;
  unit.model_files = stream.model_files;
  unit.effective = stream.effective;
  return unit;
}

}  // namespace encode
