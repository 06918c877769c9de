// Asks the NVIDIA driver about one GPU from time to time, on a thread of its own. Throws no Error.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "encode/device.h"

#include "run_record/gpu_watch.h"

namespace encode {

// A call of the driver can hang while a GPU hangs, so nothing waits long for the thread: if it does
// not end in time, it is abandoned. One thread at a time may call the functions.
class GpuSampler {
 public:
  // Asks once, and then every `interval`. `gpu` is a GPU that a worker has opened.
  GpuSampler(const DeviceFacts& gpu, std::chrono::milliseconds interval);
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;
  ~GpuSampler();  // waits at most a second

  // Returns a sample that was not returned before, or nullopt.
  std::optional<GpuSample> take();
  // Returns a new sample, or nullopt if the driver does not answer within a second.
  std::optional<GpuSample> ask_now();
  // Returns one sentence that says why there are no samples, but only once; otherwise "".
  std::string take_problem();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace encode
