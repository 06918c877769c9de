#include "plan/profile.h"

#include <algorithm>
#include <string>
#include <variant>

#include "encode/error.h"

#include "base/scratch_folder.h"
#include "run_plan/memory/profiles.h"

namespace encode {
namespace {

constexpr int64_t kMostProfiledRows = 2000;

// Enough rows to fill several batches of every thread, and few enough to take seconds.
int64_t rows_to_run(const PlannedStream& stream) {
  const TextFacts& texts = stream.request.texts;
  const double mean = static_cast<double>(texts.tokens) / static_cast<double>(texts.rows);
  const int64_t tokens = 4 * stream.planned.batches.budget_tokens * stream.planned.threads;
  const auto rows = static_cast<int64_t>(static_cast<double>(tokens) / std::max(mean, 1.0)) + 1;
  return std::clamp<int64_t>(rows, 16, kMostProfiledRows);
}

// Returns a config of the first stream alone, with the planned settings, a limited number of rows,
// and all its output in the scratch folder.
RunConfig planned_config(const PlanRequest& request, const PlannedStream& stream,
                         const std::string& folder) {
  RunConfig config = request.config;
  config.streams.resize(1);
  config.combine.clear();
  config.store.cache_dir = folder;
  config.store.output.clear();
  config.store.chunk_size = stream.chunk_rows;
  config.hardware.max_restarts = 0;
  config.log = {.level = "warning", .file = "", .json = false, .progress = false};
  StreamConfig& first = config.streams.front();
  first.speed.batch_size = 0;
  first.speed.batch_tokens = stream.planned.batches.budget_tokens;
  first.speed.threads = stream.planned.threads;
  const int64_t rows = rows_to_run(stream);
  const int64_t limit = first.input.limit_rows;
  first.input.limit_rows = limit > 0 ? std::min(limit, rows) : rows;
  return config;
}

// The measurements of the worker.
struct Measured {
  DeviceFacts device;
  UnitDone done;
};

// Returns the estimate for the rows that were run, without the correction by earlier profiles.
int64_t estimate_for(const PlannedStream& stream, const MemoryRoom& room, const UnitDone& done) {
  MemoryRequest request = stream.request;
  const double share =
      static_cast<double>(done.rows_done) / static_cast<double>(request.texts.rows);
  request.texts.text_bytes =
      static_cast<int64_t>(static_cast<double>(request.texts.text_bytes) * share);
  request.texts.rows = done.rows_done;
  request.texts.tokens = done.stats.tokens;
  request.texts.passages = done.stats.passages;
  if (room.kind == DeviceKind::kCpu) return estimate_cpu(request).total_bytes();
  const MemoryEstimate estimate = estimate_cuda(request);
  // These parts are left out, because the allocator of LibTorch counts neither the CUDA context nor
  // what it rounds up.
  return estimate.total_bytes() - estimate.bytes_of(MemoryKind::kContext) -
         estimate.bytes_of(MemoryKind::kRounding);
}

}  // namespace

ProfileResult profile_plan(const PlanRequest& request, const ExperimentPlan& plan,
                           const RunEnvironment& environment, Terminal& err) {
  const DevicePlan& device = plan.devices.front();
  if (device.device.place.empty()) {
    throw Error({.code = "plan.profile",
                 .what = "a card that is not in this machine cannot be measured",
                 .where = "--profile",
                 .expected = "a plan for a device of this machine",
                 .found = device.device.name,
                 .hint = "leave out --gpu and --gpu-memory"});
  }
  const PlannedStream& stream = device.streams.front();
  const ScratchFolder scratch(request.config.store.cache_dir, "plan");
  Measured measured;
  RunEnvironment watched = environment;
  watched.on_event = [&measured](const WorkerEvent& event) {
    if (const auto* const loaded = std::get_if<ModelLoaded>(&event))
      measured.device = loaded->device;
    if (const auto* const done = std::get_if<UnitDone>(&event)) measured.done = *done;
  };
  Terminal out(-1);
  const RunEnd end =
      run_experiment(planned_config(request, stream, scratch.path()), watched, err, out);
  ProfileResult result;
  result.stopped_by = end.stopped_by;
  if (end.stopped_by != 0) return result;
  const UnitDone& done = measured.done;
  const bool on_cpu = device.device.room.kind == DeviceKind::kCpu;
  result.device = measured.device.name;
  result.rows = done.rows_done;
  result.tokens = done.stats.tokens;
  result.estimated_bytes = estimate_for(stream, device.device.room, done);
  result.measured_bytes = on_cpu ? end.summary.peak_host_bytes : done.device_peak_bytes;
  const double seconds = done.stages.main_thread();
  if (seconds > 0) result.tokens_per_second = static_cast<double>(result.tokens) / seconds;
  const double mean =
      static_cast<double>(result.tokens) / static_cast<double>(std::max<int64_t>(1, result.rows));
  result.flops_per_second = result.tokens_per_second * stream.request.shape.flops_per_token(mean);
  if (result.measured_bytes <= 0) return result;
  const std::string path = profiles_path();
  Profiles(path).add({.device = result.device,
                      .libtorch = measured.device.libtorch,
                      .encode = request.version,
                      .dtype = stream.dtype,
                      .model_type = stream.request.shape.model_type,
                      .hidden_size = stream.request.shape.hidden_size,
                      .estimated_bytes = result.estimated_bytes,
                      .measured_bytes = result.measured_bytes,
                      .flops_per_second = result.flops_per_second});
  result.stored = path;
  return result;
}

}  // namespace encode
