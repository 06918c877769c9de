// Decides when a new worker replaces a worker that has no fault.
#pragma once

#include <cstdint>
#include <string>

#include "encode/config.h"
#include "encode/device.h"

namespace encode {

// A worker retires after a number of chunks, or when its host memory has grown, because memory may
// become fragmented and a driver may leak memory. Not thread-safe.
class Retirement {
 public:
  // `start_seconds` is the time that the worker took until it could encode.
  Retirement(const HardwareOptions& hardware, DeviceKind device, double start_seconds);

  // The progress of a window.
  struct Progress {
    int64_t chunks = 0;          // the chunks that the window completed
    int64_t resident_bytes = 0;  // the memory of the worker
    double seconds = 0;          // since the worker began
  };
  // Must be called after each window.
  void count(const Progress& window);
  bool due() const { return !reason_.empty(); }
  const std::string& reason() const { return reason_; }  // one sentence; "" unless due()

 private:
  const int64_t least_chunks_;  // 0: no limit
  const int64_t most_chunks_;
  const double least_seconds_;  // the least age of the worker; ignored after most_chunks_
  int64_t chunks_ = 0;
  int64_t windows_ = 0;
  int64_t first_bytes_ = 0;  // the most resident memory after one of the first windows
  std::string reason_;
};

}  // namespace encode
