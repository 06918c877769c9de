#include "run_record/gpu_sampler.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "run_record/nvml.h"

namespace encode {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);

GpuSample to_sample(const GpuStatus& gpu) {
  return {.used_bytes = gpu.used_bytes.value_or(-1),
          .total_bytes = gpu.total_bytes.value_or(-1),
          .utilization_percent = gpu.utilization_percent.value_or(-1),
          .temperature_celsius = gpu.temperature_celsius.value_or(-1)};
}

}  // namespace

// The state that the thread and the GpuSampler share, so that the thread may outlive the
// GpuSampler.
struct GpuSampler::Shared {
  DeviceFacts gpu;
  std::chrono::milliseconds interval;

  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  bool ended = false;
  bool asked = false;  // ask_now() is waiting for a sample
  std::optional<GpuSample> sample;
  std::string problem;

  void run();
  bool sample_once(const Nvml& nvml);
};

// Returns false if the GPU cannot be determined.
bool GpuSampler::Shared::sample_once(const Nvml& nvml) {
  const std::vector<GpuStatus> gpus = nvml.gpus();
  GpuSelection selection = gpu_selection_of_environment();
  selection.name = gpu.name;
  const std::optional<DeviceChoice> device = find_device(gpu.place);
  if (!device) return false;
  const std::optional<size_t> place = visible_gpu(gpus, device->ordinal(), selection);
  if (!place) return false;
  const std::lock_guard<std::mutex> guard(mutex);
  sample = to_sample(gpus[*place]);
  asked = false;
  changed.notify_all();
  return true;
}

void GpuSampler::Shared::run() {
  std::string failure;
  try {
    const std::unique_ptr<Nvml> nvml = Nvml::open();
    while (nvml != nullptr) {
      if (!sample_once(*nvml)) {
        failure = "it is not certain which of the GPUs of this machine the run uses";
        break;
      }
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait_for(lock, interval, [this] { return stop || asked; });
      if (stop) break;
    }
  } catch (const Error& error) {
    failure = error.detail().what + ": " + error.detail().found;
  }
  const std::lock_guard<std::mutex> guard(mutex);
  problem = std::move(failure);
  ended = true;
  changed.notify_all();
}

GpuSampler::GpuSampler(const DeviceFacts& gpu, std::chrono::milliseconds interval)
    : shared_(std::make_shared<Shared>()) {
  shared_->gpu = gpu;
  shared_->interval = interval;
  try {
    std::thread([shared = shared_] { shared->run(); }).detach();
  } catch (const std::system_error& refused) {
    shared_->ended = true;
    shared_->problem = thread_error(refused).detail().what;
  }
}

GpuSampler::~GpuSampler() {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kPatience, [this] { return shared_->ended; });
}

std::optional<GpuSample> GpuSampler::take() {
  const std::lock_guard<std::mutex> guard(shared_->mutex);
  return std::exchange(shared_->sample, std::nullopt);
}

std::optional<GpuSample> GpuSampler::ask_now() {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  shared_->sample.reset();
  shared_->asked = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kPatience,
                            [this] { return shared_->ended || shared_->sample.has_value(); });
  return std::exchange(shared_->sample, std::nullopt);
}

std::string GpuSampler::take_problem() {
  const std::lock_guard<std::mutex> guard(shared_->mutex);
  return std::exchange(shared_->problem, "");
}

}  // namespace encode
