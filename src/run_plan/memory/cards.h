// The GPUs that `encode plan --gpu NAME` can plan for although the machine does not have them. Any
// thread may call these functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace encode {

// A card as its data sheet describes it.
struct GpuCard {
  std::string_view name;   // "A100-80GB"
  int64_t memory_mib = 0;  // the total memory that the driver shows; less than the GB in the name
  // Dense products without sparsity, in TFLOP/s: float32 on the CUDA cores, TensorFloat-32, and
  // float16 or bfloat16.
  double float32_tflops = 0;
  double tf32_tflops = 0;  // 0: the card has no TensorFloat-32
  double half_tflops = 0;
  bool bfloat16 = true;  // compute capability 8.0 or above

  int64_t memory_bytes() const { return memory_mib << 20; }
};

std::span<const GpuCard> gpu_cards();  // sorted by memory; lives as long as the process

// Returns the card with this name. Ignores case, spaces, dashes and the words "NVIDIA", "GeForce",
// "RTX", "Quadro" and "Tesla", so that it finds the name that the driver gives and short names such
// as "4090". Returns nullptr if no card has the name, or if the name lacks the memory ("A100") and
// there are cards with different memory.
const GpuCard* find_card(std::string_view name);

// Does the same as find_card(), but throws Error kUsage "plan.card" instead of returning nullptr.
// The error lists the cards that `name` can mean, or those with the most similar names.
const GpuCard& require_card(const std::string& name);

}  // namespace encode
