#include "run_record/stage_report.h"

#include <fmt/format.h>

#include "base/units.h"

namespace encode {

std::string describe(const StageSeconds& stages) {
  const double main = stages.main_thread();
  if (main <= 0) return "";
  return fmt::format(
      "encoding {:.1f}%, waiting for input {:.1f}%, waiting for the disk {:.1f}% of {}; in other "
      "threads: read {}, tokenize {}, pack {}, write {}",
      100 * stages.encode / main, 100 * stages.rows_awaited / main,
      100 * stages.commit_awaited / main, format_duration(main), format_duration(stages.read),
      format_duration(stages.tokenize), format_duration(stages.pack),
      format_duration(stages.commit));
}

Json to_json(const StageSeconds& stages) {
  Json object = Json::object();
  for (const Stage& stage : kStages) object[std::string(stage.name)] = stages.*stage.seconds;
  return object;
}

StageSeconds stage_seconds_from(const JsonFields& fields) {
  StageSeconds stages;
  for (const Stage& stage : kStages)
    stages.*stage.seconds = fields.number_or(std::string(stage.name), 0, 0, kMaxRecordedSeconds);
  return stages;
}

}  // namespace encode
