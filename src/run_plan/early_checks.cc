#include "run_plan/early_checks.h"

#include <algorithm>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/nvidia_driver.h"
#include "run_plan/directory_probe.h"
#include "run_plan/earlier_name.h"
#include "run_plan/run_devices.h"
#include "run_record/nvml.h"
#include "run_record/run_paths.h"

namespace encode {
namespace {

bool has_result(const RunConfig& config, const std::string& name) {
  const std::string final = final_path_of(config, name);
  const auto has_rows = [&](bool filtered) {
    return entry_exists(standard_path_of(config.store, final, filtered), "store.final");
  };
  return entry_exists(final, "store.final") || has_rows(false) || has_rows(true) ||
         entry_exists(chunks_dir(config.store.cache_dir, name), "store.stream");
}

// Returns false if a driver exists but does not answer, because the worker will report what is
// wrong with it.
bool certainly_no_driver() {
  if (has_nvidia_driver()) return false;
  try {
    return Nvml::open() == nullptr;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void check_output_directories(const std::vector<StreamPlan>& streams,
                              std::set<std::string>& tried) {
  for (const StreamPlan& stream : streams) {
    if (!entry_exists(stream.final_path, "store.final"))
      probe_once(parent_directory(stream.final_path), tried);
  }
}

void require_driver(const RunConfig& config) {
  const std::vector<DeviceChoice> devices = devices_of(config.hardware);
  const bool only_gpus = std::all_of(
      devices.begin(), devices.end(),
      [](const DeviceChoice& device) { return device.kind == DeviceChoice::Kind::kCuda; });
  if (!only_gpus) return;
  const bool new_stream = std::any_of(
      config.streams.begin(), config.streams.end(), [&config](const StreamConfig& stream) {
        return !has_result(config, stream.name()) && !has_result(config, kEarlierStreamName);
      });
  if ((new_stream || config.store.fresh) && certainly_no_driver())
    throw no_nvidia_driver(devices.front());
}

}  // namespace encode
