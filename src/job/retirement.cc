#include "job/retirement.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/units.h"

namespace encode {
namespace {

// The memory of these windows is not growth, because they fill the buffers and the allocators.
constexpr int64_t kFirstWindows = 8;
// A smaller growth is no leak, because windows differ in size.
constexpr int64_t kLeastGrowthBytes = int64_t{1} << 30;

int64_t least_chunks(const HardwareOptions& hardware, DeviceKind device) {
  return hardware.worker_chunks.value_or(device == DeviceKind::kCuda ? kLeastGpuChunks : 0);
}

}  // namespace

Retirement::Retirement(const HardwareOptions& hardware, DeviceKind device, double start_seconds)
    : least_chunks_(least_chunks(hardware, device)),
      most_chunks_(hardware.worker_chunks ? least_chunks_ : kMostGpuChunks),
      least_seconds_(start_seconds * (1 + kStartsPerRetirement)) {}

void Retirement::count(const Progress& window) {
  chunks_ += window.chunks;
  const bool pays = window.seconds >= least_seconds_ || chunks_ >= most_chunks_;
  if (least_chunks_ > 0 && chunks_ >= least_chunks_ && pays)
    reason_ = "it has encoded " + format_count(chunks_, "chunk", "chunks");
  const int64_t resident_bytes = window.resident_bytes;
  if (++windows_ <= kFirstWindows) {
    first_bytes_ = std::max(first_bytes_, resident_bytes);
    return;
  }
  const int64_t limit = first_bytes_ + std::max(kLeastGrowthBytes, first_bytes_ / 2);
  if (resident_bytes > limit) {
    reason_ = fmt::format("its host memory grew from {} to {}", format_bytes(first_bytes_),
                          format_bytes(resident_bytes));
  }
}

}  // namespace encode
