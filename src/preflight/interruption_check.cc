#include <fmt/format.h>
#include <string>
#include <vector>

#include "base/units.h"
#include "preflight/checks.h"
#include "run_plan/chunk_size.h"
#include "run_plan/fit_check.h"
#include "run_plan/memory/chunk_rows.h"
#include "run_plan/run_devices.h"

namespace encode {
namespace {

// Completes the plan of a stream: the partial scan of a large input is scaled to the whole file,
// and chunks in the cache keep their size.
StreamPlan known_plan(const CheckedStream& stream, const StreamOutlook& outlook) {
  StreamPlan plan = stream.plan;
  if (!stream.whole) {
    plan.scan.rows = stream.rows;
    plan.scan.text_bytes = stream.file_bytes;
  }
  if (outlook.chunk_rows > 0) plan.chunk_rows = outlook.chunk_rows;
  return plan;
}

}  // namespace

void check_interruption(const RunConfig& config, const CheckedExperiment& experiment,
                        const std::vector<StreamOutlook>& outlooks, PreflightFindings& findings) {
  const StoreOptions& store = config.store;
  if (!store.chunked()) {
    return findings.yellow("chunks",
                           "the standard mode has no chunks: an interruption loses a whole stream",
                           config.config_path.empty()
                               ? "leave --standard out"
                               : "set semantic.use_chunked_encoding and semantic.save_chunks to "
                                 "true");
  }
  const bool several = config.hardware.all_devices || devices_of(config.hardware).size() > 1;
  const HardwareOptions first = one_device(config.hardware);
  RunGpu gpu(first);
  for (size_t i = 0; i < experiment.streams.size(); ++i) {
    const CheckedStream& stream = experiment.streams[i];
    const std::string check = "chunks " + stream.plan.config.name();
    const StreamOutlook& outlook = outlooks[i];
    if (outlook.encoded) continue;
    if (store.chunk_size == kAutoChunkRows && outlook.chunk_rows == 0) {
      findings.green(check,
                     fmt::format("a size that the run chooses; a kill loses at most about {} of "
                                 "work",
                                 format_duration(kMostLostSeconds)));
    } else if (stream.rows > 0) {
      const StreamPlan plan = known_plan(stream, outlook);
      findings.green(check,
                     fmt::format("{} each; {}{}", format_count(plan.chunk_rows, "row", "rows"),
                                 describe_loss(plan, stream.model->opened.directory, gpu),
                                 several ? ", for each device" : ""));
    }
  }
}

}  // namespace encode
