#include "job/retirement.h"

#include <algorithm>
#include <fmt/format.h>

#include "encode/job.h"

#include "base/units.h"

namespace encode {
namespace {

// The first windows fill the buffers and the allocators.
constexpr int64_t kFirstWindows = 8;
// Windows differ in size, so memory that grows by less is no creep.
constexpr int64_t kLeastGrowthBytes = int64_t{1} << 30;

int64_t most_chunks(const HardwareOptions& hardware, DeviceKind device) {
  return hardware.worker_chunks.value_or(device == DeviceKind::kCuda ? kGpuWorkerChunks : 0);
}

}  // namespace

Retirement::Retirement(const HardwareOptions& hardware, DeviceKind device)
    : most_chunks_(most_chunks(hardware, device)) {}

void Retirement::count(int64_t chunks, int64_t resident_bytes) {
  chunks_ += chunks;
  if (most_chunks_ > 0 && chunks_ >= most_chunks_)
    reason_ = "it has encoded " + format_count(chunks_, "chunk", "chunks");
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
