#include "run_plan/memory/compute_rate.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "base/compute_types.h"
#include "base/units.h"
#include "kernels/kernels.h"

namespace encode {
namespace {

// The share of the speed in its data sheet that a device reaches in whole runs. It is an assumption
// until --profile has measured the device.
struct ShareOfPeak {
  double usual = 0.4;
  double least = 0;
  double most = 0;
};
// Whole runs of MiniLM on three processors reached 30 to 65 % (docs/planning.md).
constexpr ShareOfPeak kVectorRegisters = {.least = 0.2, .most = 0.7};
// Whole runs with AMX in 8 and 16 bits reached 6 to 11 %, because other work takes most of the
// time.
constexpr ShareOfPeak kNarrowTiles = {.least = 0.05, .most = 0.5};
// Whole runs on an H100 reached 15 to 55 % in bfloat16 (docs/gpu-measured.md).
constexpr ShareOfPeak kGpu = {.least = 0.1, .most = 0.6};

ComputeRate assumed(double peak_flops, const ShareOfPeak& share, std::string_view what) {
  if (peak_flops <= 0) return {};
  return {.flops_per_second = share.usual * peak_flops,
          .least_flops = share.least * peak_flops,
          .most_flops = share.most * peak_flops,
          .measured = false,
          .source = fmt::format("assumed: {:.0f} to {:.0f} % of {:.1f} TFLOP/s {}",
                                100 * share.least, 100 * share.most, peak_flops / kTera, what)};
}

ComputeRate rate_of(const GpuCard& card, const EffectiveResult& effective) {
  switch (effective.dtype) {
    case ComputeType::kFloat32:
      return effective.float32_matmul_precision == MatmulPrecision::kHigh && card.tf32_tflops > 0
                 ? assumed(card.tf32_tflops * kTera, kGpu, "of TensorFloat-32")
                 : assumed(card.float32_tflops * kTera, kGpu, "of float32");
    case ComputeType::kFp8:
      return assumed(2 * card.half_tflops * kTera, kGpu, "of 8-bit floats");
    case ComputeType::kInt8:
    case ComputeType::kBFloat16:
    case ComputeType::kFloat16:
      break;
  }
  return assumed(card.half_tflops * kTera, kGpu, "of 16-bit floats");
}

double flops_per_cycle(const kernels::FlopsPerCycle& flops, ComputeType type) {
  switch (type) {
    case ComputeType::kBFloat16:
      return flops.bfloat16;
    case ComputeType::kInt8:
      return flops.int8;
    case ComputeType::kFloat32:
    case ComputeType::kFloat16:
    case ComputeType::kFp8:
      break;
  }
  return flops.float32;
}

}  // namespace

ComputeRate measured_rate(double flops_per_second) {
  return {.flops_per_second = flops_per_second,
          .least_flops = flops_per_second,
          .most_flops = flops_per_second,
          .measured = true,
          .source = fmt::format("measured: {:.3f} TFLOP/s", flops_per_second / kTera)};
}

ComputeRate given_rate(double tokens_per_second, const std::string& origin) {
  return {.tokens_per_second = tokens_per_second,
          .source = fmt::format("{}: {} tokens/s", origin, format_rate(tokens_per_second))};
}

ComputeRate assumed_gpu_rate(const GpuCard* card, const EffectiveResult& effective) {
  return card != nullptr ? rate_of(*card, effective) : ComputeRate{};
}

ComputeRate assumed_cpu_rate(ComputeType type, int64_t threads) {
  constexpr double kUsualHertz = 3e9;
  const kernels::CapabilityFacts processor = kernels::facts_of(kernels::capability());
  const bool tiles = processor.has_tiles && facts_of(type).on_tiles;
  const double peak = flops_per_cycle(processor.flops, type) * kUsualHertz;
  return assumed(peak * static_cast<double>(threads), tiles ? kNarrowTiles : kVectorRegisters,
                 fmt::format("of {} cores at 3 GHz", threads));
}

void EncodingTime::add(const EncodingTime& other) {
  seconds += other.seconds;
  least += other.least;
  most += other.most;
}

void EncodingTime::divide(double speed) {
  seconds /= speed;
  least /= speed;
  most /= speed;
}

EncodingTime encoding_time(const MemoryRequest& request, const ComputeRate& rate) {
  if (request.texts.tokens == 0) return {};
  const auto tokens = static_cast<double>(request.texts.tokens);
  if (rate.tokens_per_second > 0) {
    const double seconds = tokens / rate.tokens_per_second;
    return {.seconds = seconds, .least = seconds, .most = seconds};
  }
  if (rate.flops_per_second <= 0) return {};
  constexpr double kBatchSeconds = 5e-4;  // launches, copies and waits that do not overlap
  // The 16 cores beside an H100 have read 10.2 million tokens a second (docs/gpu-measured.md).
  constexpr double kTextBytesPerSecond = 40e6;
  const double mean = tokens / static_cast<double>(std::max<int64_t>(1, request.texts.sequences()));
  const double batches =
      tokens / static_cast<double>(std::max<int64_t>(1, request.batches.budget_tokens));
  const double operations = tokens * request.shape.flops_per_token(mean);
  const double beside =
      batches * kBatchSeconds / static_cast<double>(request.batches.batches_at_once);
  const double reading = static_cast<double>(request.texts.text_bytes) / kTextBytesPerSecond;
  const auto at = [&](double flops) { return std::max(operations / flops + beside, reading); };
  return {.seconds = at(rate.flops_per_second),
          .least = at(rate.most_flops),
          .most = at(rate.least_flops)};
}

std::string cpu_name() {
  return fmt::format("cpu ({})", kernels::to_string(kernels::capability()));
}

}  // namespace encode
