#include "preflight/preflight.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/path_kind.h"
#include "base/scratch_folder.h"
#include "preflight/defence_checks.h"
#include "preflight/device_checks.h"
#include "preflight/host_checks.h"
#include "preflight/input_checks.h"
#include "preflight/model_checks.h"
#include "preflight/store_checks.h"
#include "preflight/worker_check.h"
#include "supervisor/plan/devices.h"

namespace encode {
namespace {

constexpr const char* kHashCache = "/model_hashes.json";

// A worker computes on one device, and all devices of a run are of one kind.
HardwareOptions first_device(HardwareOptions hardware) {
  hardware.device = devices_of(hardware).front();
  hardware.devices.clear();
  return hardware;
}

std::string temporary_folder() {
  std::error_code failure;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failure);
  return failure ? "/tmp" : folder.string();
}

class Preflight {
 public:
  Preflight(const PreflightRequest& request, const StopSignal& stop)
      : request_(request),
        config_(request.config),
        stop_(stop),
        scratch_(temporary_folder() + "/encode", "preflight"),
        host_(host_facts()) {}

  PreflightFindings run() {
    if (request_.config_error) findings_.red("config", *request_.config_error);
    check_host(host_, findings_);
    if (has_experiment()) {
      look_at_experiment();
    } else if (!request_.model.empty()) {
      look_at_model();
    }
    const DriverFacts driver = ask_driver();
    const PluginFacts plugin = find_plugin(request_.worker.program);
    std::set<std::string> looked_at;  // several workers may compute on one device
    for (const std::string& device : devices_of(config_.hardware)) {
      if (!looked_at.insert(device).second) continue;
      check_device(driver,
                   {.device = device,
                    .model_bytes = experiment_.largest_model_bytes(),
                    .plugin = plugin,
                    .selection = gpu_selection_of_environment()},
                   findings_);
    }
    const std::optional<DeviceFacts> device = try_worker();
    if (device && device->kind == DeviceKind::kCpu && !driver.gpus.empty() &&
        devices_of(config_.hardware).front() == "auto") {
      findings_.yellow("device", "this machine has an NVIDIA GPU, but the CPU computes",
                       "set device: cuda to see what is missing");
    }
    return std::move(findings_);
  }

 private:
  bool has_experiment() const { return !config_.streams.empty() && !request_.config_error; }
  std::string hash_cache() const { return scratch_.path() + kHashCache; }

  void look_at_experiment() {
    findings_.green("config",
                    std::to_string(config_.streams.size()) + " streams" +
                        (config_.config_path.empty() ? "" : " in " + config_.config_path));
    take_hashes();
    check_cache_directory(config_, findings_);
    check_streams(config_, hash_cache(), experiment_, findings_);
    keep_streams_for_worker();
    check_inputs(experiment_, findings_);
    check_results(config_, experiment_, findings_);
    findings_.guard("space", [this] {
      const std::string directory = nearest_directory(config_.store.cache_dir);
      check_space(space_needs(config_, experiment_), space_facts(directory), directory, findings_);
    });
    check_defences(config_, findings_);
  }

  // Hashing a large model takes minutes, so hashes of earlier runs are used, but not written back.
  void take_hashes() {
    const std::string earlier = config_.store.cache_dir + kHashCache;
    std::error_code ignored;  // the files are hashed again
    std::filesystem::copy_file(earlier, hash_cache(), ignored);
  }

  void look_at_model() {
    ResultOptions options;
    options.model = request_.model;
    StreamConfig stream;
    stream.stream = "model";
    stream.result = std::move(options);
    config_.streams = {stream};
    check_streams(config_, hash_cache(), experiment_, findings_);
    config_.streams.clear();
    keep_streams_for_worker();
  }

  // The worker needs the models even if their inputs cannot be used. Its self-test finds earlier
  // vectors by the model and the options, not by the input.
  void keep_streams_for_worker() {
    for (const CheckedStream& stream : experiment_.streams) {
      CheckedStream& copy = for_worker_.streams.emplace_back();
      copy.plan = stream.plan;
      copy.model = stream.model;
      findings_.guard("options " + stream.plan.config.name(),
                      [&] { finish_stream_plan(copy.plan, copy.model->opened); });
    }
  }

  // Returns the device that the worker has opened.
  std::optional<DeviceFacts> try_worker() {
    const bool models_failed =
        for_worker_.streams.empty() && (has_experiment() || !request_.model.empty());
    if (models_failed) return std::nullopt;
    HostNeeds needs = {
        .model_bytes = experiment_.largest_model_bytes(), .worker_bytes = 0, .prefetch_bytes = 0};
    if (!check_memory_to_load(host_, needs, findings_)) return std::nullopt;
    const WorkerFacts worker = check_worker({.worker = request_.worker,
                                             .stop = stop_,
                                             .scratch = scratch_.path(),
                                             .cache_dir = config_.store.cache_dir},
                                            first_device(config_.hardware), for_worker_, findings_);
    if (!worker.device || !has_experiment()) return worker.device;
    needs.worker_bytes = worker.peak_bytes;
    for (const StreamConfig& stream : config_.streams)
      needs.prefetch_bytes = std::max(needs.prefetch_bytes, stream.speed.prefetch_bytes);
    check_memory_to_run(host_, needs, findings_);
    return worker.device;
  }

  const PreflightRequest& request_;
  RunConfig config_;
  const StopSignal& stop_;
  const ScratchFolder scratch_;
  const HostFacts host_;
  CheckedExperiment experiment_;
  CheckedExperiment for_worker_;
  PreflightFindings findings_;
};

}  // namespace

PreflightFindings run_preflight(const PreflightRequest& request, const StopSignal& stop) {
  return Preflight(request, stop).run();
}

}  // namespace encode
