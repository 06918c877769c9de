// Decides when a worker is replaced by a new one, although it works.
#pragma once

#include <cstdint>
#include <string>

#include "encode/config.h"
#include "encode/device.h"

namespace encode {

// A worker retires after a number of chunks, or when its host memory has grown, so that nothing can
// pile up in it: fragments of memory, leaks of a driver. Not thread-safe.
class Retirement {
 public:
  Retirement(const HardwareOptions& hardware, DeviceKind device);

  // Must be called after each window, with the number of chunks that it closed and the resident
  // memory of the worker.
  void count(int64_t chunks, int64_t resident_bytes);
  bool due() const { return !reason_.empty(); }
  const std::string& reason() const { return reason_; }  // one sentence; "" unless due()

 private:
  const int64_t most_chunks_;  // 0: no limit
  int64_t chunks_ = 0;
  int64_t windows_ = 0;
  int64_t first_bytes_ = 0;  // the resident memory when the buffers had their usual size
  std::string reason_;
};

}  // namespace encode
