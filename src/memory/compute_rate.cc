#include "memory/compute_rate.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "kernels/kernels.h"

namespace encode {
namespace {

// The share of its data sheet that a device reaches in whole runs of this kind of work
// (docs/performance.md). It is an assumption until --profile has measured the device.
constexpr double kShareOfPeak = 0.4;
constexpr double kTera = 1e12;

ComputeRate assumed(double peak_flops, std::string_view what) {
  if (peak_flops <= 0) return {};
  return {.flops_per_second = kShareOfPeak * peak_flops,
          .measured = false,
          .source = fmt::format("assumed: {:.0f} % of {:.1f} TFLOP/s {}", 100 * kShareOfPeak,
                                peak_flops / kTera, what)};
}

ComputeRate rate_of(const GpuCard& card, const EffectiveResult& effective) {
  switch (effective.dtype) {
    case ComputeType::kFloat32:
      return effective.float32_matmul_precision == MatmulPrecision::kHigh && card.tf32_tflops > 0
                 ? assumed(card.tf32_tflops * kTera, "of TensorFloat-32")
                 : assumed(card.float32_tflops * kTera, "of float32");
    case ComputeType::kFp8:
      return assumed(2 * card.half_tflops * kTera, "of 8-bit floats");
    case ComputeType::kInt8:
    case ComputeType::kBFloat16:
    case ComputeType::kFloat16:
      break;
  }
  return assumed(card.half_tflops * kTera, "of 16-bit floats");
}

// Multiply-adds of one core in a cycle, times two.
double cpu_flops_per_cycle(ComputeType type) {
  const bool narrow = type == ComputeType::kBFloat16 || type == ComputeType::kInt8;
  switch (kernels::capability()) {
    case kernels::Capability::kAmx:
      return narrow ? 1024 : 96;
    case kernels::Capability::kAvx512Bf16:
      return narrow ? 128 : 64;
    case kernels::Capability::kAvx512:
      return type == ComputeType::kInt8 ? 128 : 64;
    case kernels::Capability::kAvx2:
      return type == ComputeType::kInt8 ? 64 : 32;
    case kernels::Capability::kBaseline:
      break;
  }
  return 8;
}

}  // namespace

ComputeRate measured_rate(double flops_per_second) {
  return {.flops_per_second = flops_per_second,
          .measured = true,
          .source = fmt::format("measured: {:.3f} TFLOP/s", flops_per_second / kTera)};
}

ComputeRate assumed_gpu_rate(const GpuCard* card, const EffectiveResult& effective) {
  return card != nullptr ? rate_of(*card, effective) : ComputeRate{};
}

ComputeRate assumed_cpu_rate(ComputeType type, int64_t threads) {
  constexpr double kUsualHertz = 3e9;
  return assumed(cpu_flops_per_cycle(type) * kUsualHertz * static_cast<double>(threads),
                 fmt::format("of {} cores at 3 GHz", threads));
}

double encoding_seconds(const MemoryRequest& request, const ComputeRate& rate) {
  if (rate.flops_per_second <= 0 || request.texts.tokens == 0) return 0;
  constexpr double kBatchSeconds = 5e-4;  // launches, copies and waits that do not overlap
  constexpr double kTextBytesPerSecond = 20e6;
  const auto tokens = static_cast<double>(request.texts.tokens);
  const double mean = tokens / static_cast<double>(std::max<int64_t>(1, request.texts.rows));
  const double batches =
      tokens / static_cast<double>(std::max<int64_t>(1, request.batches.budget_tokens));
  const double computing =
      tokens * request.shape.flops_per_token(mean) / rate.flops_per_second +
      batches * kBatchSeconds / static_cast<double>(request.batches.batches_at_once);
  return std::max(computing, static_cast<double>(request.texts.text_bytes) / kTextBytesPerSecond);
}

std::string cpu_name() {
  return fmt::format("cpu ({})", kernels::to_string(kernels::capability()));
}

}  // namespace encode
