#include "run_record/gpu_watch.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "base/units.h"

namespace encode {
namespace {

template <typename Values>
int64_t median(const Values& values) {
  std::vector<int64_t> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + std::ssize(sorted) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace

void GpuWatch::worker_started() {
  chunks_ = 0;
  first_.clear();
  last_.clear();
  creeping_ = false;
  idle_since_.reset();
}

std::optional<GpuWarning> GpuWatch::chunk_done(const DeviceMemory& memory) {
  if (memory.reserved_bytes == 0 || ++chunks_ <= kWarmUpChunks) return std::nullopt;
  if (first_.size() < kCreepChunks) {
    first_.push_back(memory.reserved_bytes);
    return std::nullopt;
  }
  last_.push_back(memory.reserved_bytes);
  if (last_.size() > kCreepChunks) last_.pop_front();
  if (last_.size() < kCreepChunks) return std::nullopt;
  const int64_t before = median(first_);
  const int64_t now = median(last_);
  const int64_t margin = std::max(before / 100 * kCreepPercent, kCreepBytes);
  const bool creeps = now > before + margin;
  const bool began = creeps && !creeping_;
  creeping_ = creeps;
  if (!began) return std::nullopt;
  return GpuWarning{
      .trouble = GpuTrouble::kMemoryCreeps,
      .message = fmt::format("the reserved memory of the GPU creeps up: {} in the first chunks of "
                             "this worker, {} in the last ones, of which {} are not allocated",
                             format_bytes(before), format_bytes(now),
                             format_bytes(memory.reserved_bytes - memory.allocated_bytes))};
}

std::vector<GpuWarning> GpuWatch::sampled(Clock::time_point now, const GpuSample& sample,
                                          bool encoding) {
  std::vector<GpuWarning> warnings;
  if (auto warning = check_full(sample)) warnings.push_back(std::move(*warning));
  if (auto warning = check_idle(now, sample, encoding)) warnings.push_back(std::move(*warning));
  return warnings;
}

std::optional<GpuWarning> GpuWatch::check_full(const GpuSample& sample) {
  if (sample.used_bytes < 0 || sample.total_bytes <= 0) return std::nullopt;
  constexpr double kWhole = 100;
  const double percent =
      kWhole * static_cast<double>(sample.used_bytes) / static_cast<double>(sample.total_bytes);
  const bool began = !full_ && percent > kFullPercent;
  if (percent > kFullPercent) full_ = true;
  if (percent < kNotFullPercent) full_ = false;
  if (!began) return std::nullopt;
  return GpuWarning{
      .trouble = GpuTrouble::kNearLimit,
      .message = fmt::format("{:.1f}% of the GPU's memory is used: {} of {}", percent,
                             format_bytes(sample.used_bytes), format_bytes(sample.total_bytes))};
}

std::optional<GpuWarning> GpuWatch::check_idle(Clock::time_point now, const GpuSample& sample,
                                               bool encoding) {
  const bool busy =
      !encoding || sample.utilization_percent < 0 || sample.utilization_percent >= kIdlePercent;
  if (busy) {
    idle_since_.reset();
    idle_ = false;
    return std::nullopt;
  }
  if (!idle_since_) idle_since_ = now;
  if (idle_ || now - *idle_since_ < kIdleTime) return std::nullopt;
  idle_ = true;
  return GpuWarning{
      .trouble = GpuTrouble::kIdle,
      .message = fmt::format("the GPU was less than {}% busy for {} seconds although rows are "
                             "pending; it may wait for the disk, for the tokenizer, or for another "
                             "process",
                             kIdlePercent, kIdleTime.count())};
}

}  // namespace encode
