#include "run_plan/job_unit.h"

#include "protocol/scan_json.h"

namespace encode {

JobUnit job_unit(const StreamPlan& stream) {
  JobUnit unit;
  unit.identity = stream.identity;
  unit.input = stream.config.input;
  unit.scan = in_job(stream.scan);
  if (stream.scan.listed) unit.input.more_paths.clear();  // the list has them
  unit.speed = stream.config.speed;
  unit.model_path = stream.model_path;
  unit.model_files = stream.model_files;
  unit.effective = stream.effective;
  return unit;
}

}  // namespace encode
