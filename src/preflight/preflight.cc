#include "preflight/preflight.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"
#include "base/units.h"
#include "config/schema.h"
#include "preflight/checks.h"
#include "preflight/device_checks.h"
#include "protocol/device_kind.h"
#include "run_plan/early_checks.h"
#include "run_plan/fit_check.h"
#include "run_plan/run_devices.h"
#include "store/run_files.h"

namespace encode {
namespace {

class Preflight {
 public:
  Preflight(const PreflightRequest& request, const StopSignal& stop)
      : request_(request),
        config_(request.config),
        stop_(stop),
        scratch_(temporary_place(), "preflight"),
        driver_(ask_driver()) {}

  PreflightFindings run() {
    if (request_.config_error) findings_.red("config", *request_.config_error);
    check_host(host_facts(), findings_);
    if (has_experiment()) {
      look_at_experiment();
    } else if (!request_.model.empty()) {
      look_at_model();
    }
    const std::optional<DeviceFacts> device = check_devices();
    if (device) check_origins(*device);
    if (!findings_.count(Grade::kRed) || !has_experiment()) return std::move(findings_);
    if (is_complete(config_, experiment_)) {
      findings_.forgive(RunStep::kWriting, "every matrix is complete, so a run does not need this");
    }
    return std::move(findings_);
  }

 private:
  bool has_experiment() const { return !config_.streams.empty() && !request_.config_error; }
  std::string hash_cache() const { return RunFiles(scratch_.path()).model_hashes(); }
  ModelNeeds model_needs() const {
    return {.hash_cache = hash_cache(), .limit = memory_limit_of(config_.hardware)};
  }

  void look_at_experiment() {
    findings_.green("config",
                    format_count(std::ssize(config_.streams), "stream", "streams") +
                        (config_.config_path.empty() ? "" : " in " + config_.config_path));
    for (const std::string& sentence : config_.retired_keys)
      findings_.yellow("config", sentence, "delete the key");
    take_hashes();
    check_cache_directory(config_, findings_);
    findings_.at(RunStep::kDevice);
    // Listens for signals as a run does, so that with a low limit of open files both fail at the
    // same place.
    findings_.guard("limits", [this] { listener_.emplace(stop_, [](int /*number*/) {}); });
    findings_.guard("device", [this] { require_driver(config_); });
    const ModelNeeds needs = model_needs();
    check_streams(config_, needs, experiment_, findings_);
    check_other_inputs(config_, experiment_, findings_);
    keep_streams_for_worker();
    check_outputs_and_plan(config_, experiment_, findings_);
    check_planned_memory(needs.limit);
    outlooks_ = check_results(config_, experiment_, findings_);
    const std::string& embedding_cache = config_.embedding_cache.dir;
    open_embedding_cache_ =
        !embedding_cache.empty() && probe_embedding_cache(embedding_cache, findings_);
    findings_.at(RunStep::kWorker);
    // If the driver does not answer now, the run may still use the GPU later.
    check_defences(config_, !driver_.gpus.empty() || driver_.failure, findings_);
    check_interruption(config_, experiment_, outlooks_, findings_);
  }

  // Takes the hashes of earlier runs, because hashing a large model takes minutes, but does not
  // write new ones back.
  void take_hashes() {
    const std::string earlier = RunFiles(config_.store.cache_dir).model_hashes();
    std::error_code ignored;  // ignored: the files are hashed again
    std::filesystem::copy_file(earlier, hash_cache(), ignored);
  }

  void look_at_model() {
    ResultOptions options;
    options.model = request_.model;
    StreamConfig stream;
    stream.stream = "model";
    stream.result = std::move(options);
    config_.streams = {stream};
    check_streams(config_, model_needs(), experiment_, findings_);
    config_.streams.clear();
    keep_streams_for_worker();
  }

  // Says what a run says before it starts a worker.
  void check_planned_memory(const std::optional<MemoryLimit>& limit) {
    findings_.at(RunStep::kPlan);
    for (const CheckedStream& stream : experiment_.streams) {
      const auto warning =
          stream_memory_warning(stream.plan, stream.model->opened.directory, limit);
      if (warning)
        findings_.yellow("memory " + stream.plan.config.name(), *warning,
                         "give the job more memory, raise its limit, or give fewer --threads");
    }
  }

  // The worker also checks models whose inputs cannot be used: its self-test depends on the model
  // and the options, not on the input.
  void keep_streams_for_worker() {
    findings_.at(RunStep::kRows);
    for (const CheckedStream& stream : experiment_.streams) {
      CheckedStream& copy = for_worker_.streams.emplace_back();
      copy.plan = stream.plan;
      copy.model = stream.model;
      findings_.guard("options " + stream.plan.config.name(),
                      [&] { finish_stream_plan(copy.plan, copy.model->opened); });
    }
  }

  // A run goes on without a device that fails, as long as another one works. Returns the device
  // that a worker has opened.
  std::optional<DeviceFacts> check_devices() {
    const PluginFacts plugin = find_plugin(request_.worker.program);
    std::vector<PreflightFindings> of_devices;
    std::optional<DeviceFacts> found;
    std::vector<DeviceChoice> looked_at;  // each device once, even if several workers use it
    for (const DeviceChoice& device : devices_of(config_.hardware)) {
      if (std::find(looked_at.begin(), looked_at.end(), device) != looked_at.end()) continue;
      looked_at.push_back(device);
      PreflightFindings& findings = of_devices.emplace_back();
      findings.at(RunStep::kWorker);
      check_device(driver_,
                   {.device = device,
                    .model_bytes = experiment_.largest_model_bytes(),
                    .plugin = plugin,
                    .selection = gpu_selection_of_environment()},
                   findings);
      if (found) continue;
      found = try_worker(device, findings);
      if (findings.count(Grade::kRed) > 0) found = std::nullopt;
      const bool automatic = device.kind == DeviceChoice::Kind::kAuto;
      if (found && found->kind == DeviceKind::kCpu && !driver_.gpus.empty() && automatic) {
        findings.yellow(
            "device", "this machine has an NVIDIA GPU, but the CPU computes",
            fmt::format("give {} to see what is missing",
                        spelled_setting("hardware.device", "cuda", config_.config_path.empty())));
      }
    }
    for (PreflightFindings& findings : of_devices) {
      if (found) findings.forgive(RunStep::kConfig, "a run goes on without this device");
      findings_.add(findings);
    }
    return found;
  }

  // Returns the device that the worker has opened.
  std::optional<DeviceFacts> try_worker(const DeviceChoice& device, PreflightFindings& findings) {
    const bool models_failed =
        for_worker_.streams.empty() && (has_experiment() || !request_.model.empty());
    if (models_failed) return std::nullopt;
    HardwareOptions hardware = one_device(config_.hardware);
    hardware.device = device;
    const WorkerFacts worker =
        check_worker({.worker = request_.worker,
                      .stop = stop_,
                      .scratch = scratch_.path(),
                      .cache_dir = config_.store.cache_dir,
                      .embedding_cache = open_embedding_cache_ ? config_.embedding_cache
                                                               : EmbeddingCacheOptions()},
                     hardware, for_worker_, findings);
    if (!worker.device || !has_experiment()) return worker.device;
    HostNeeds needs = {.worker_bytes = worker.peak_bytes,
                       .prefetch_bytes = 0,
                       .limit = run_limit(config_.hardware)};
    for (const StreamConfig& stream : config_.streams)
      needs.prefetch_bytes = std::max(needs.prefetch_bytes, stream.speed.prefetch_bytes);
    // Other processes may have begun or ended while the worker loaded the model.
    check_memory_to_run(host_facts(), needs, findings);
    return worker.device;
  }

  // A run with strict_numerics refuses chunks of another kind of device.
  void check_origins(const DeviceFacts& device) {
    if (!config_.hardware.strict_numerics) return;
    findings_.at(RunStep::kWorker);
    for (size_t i = 0; i < outlooks_.size(); ++i) {
      const StreamPlan& stream = experiment_.streams[i].plan;
      const std::string& name = stream.config.name();
      ChunkOrigin here = origin_of(device);
      // The kernels are compared only for the type of the first model, because the worker has
      // reported no others.
      if (stream.effective.dtype != for_worker_.streams.front().plan.effective.dtype)
        here.kernels.clear();
      for (const ChunkOrigin& origin : outlooks_[i].origins) {
        if (outlooks_[i].encoded || origin.same_bits(here)) continue;
        findings_.red(
            "results " + name,
            other_device_error(here, origin, chunks_dir(config_.store.cache_dir, name)).detail());
      }
    }
  }

  const PreflightRequest& request_;
  RunConfig config_;
  const StopSignal& stop_;
  std::optional<StopListener> listener_;
  const ScratchFolder scratch_;
  const DriverFacts driver_;
  CheckedExperiment experiment_;
  CheckedExperiment for_worker_;
  std::vector<StreamOutlook> outlooks_;  // the outlook of each stream of experiment_
  bool open_embedding_cache_ = false;
  PreflightFindings findings_;
};

}  // namespace

PreflightFindings run_preflight(const PreflightRequest& request, const StopSignal& stop) {
  return Preflight(request, stop).run();
}

}  // namespace encode
