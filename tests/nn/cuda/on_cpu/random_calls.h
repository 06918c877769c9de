// Calls the plugin's kernels with random shapes and compares them with host_kernels().
#pragma once

#include <iosfwd>
#include <random>
#include <string>
#include <vector>

#include "nn/cuda/plugin.h"

namespace encode::testing {

// One kernel of the plugin for one element type.
struct KernelUnderTest {
  enum class Launcher {
    kLayerNorm,
    kRmsNorm,
    kRotary,
    kActivation,
    kGated,
    kEmbedding,
    kPool,
    kQuantizeRows
  };

  Launcher launcher;
  EncodeCudaType type;
  bool to_fp8 = false;  // true if the launcher also quantizes its result
};

std::string name_of(const KernelUnderTest& kernel);              // "rms_norm_bfloat16_to_fp8"
void PrintTo(const KernelUnderTest& kernel, std::ostream* out);  // called by GoogleTest

// Returns every launcher with every type, and with `to_fp8` if the launcher can quantize its
// result.
std::vector<KernelUnderTest> kernels_under_test();

// Calls the kernel in `table` and in host_kernels() with the same random arguments. Returns "" or
// the first difference. The tolerance is two units in the last place at 1 (2e-5 in float32),
// relative to the larger of 1 and the reference. quantize_rows must give the same bits. A write
// outside of a buffer is a difference, and a read outside of a buffer gives NaN.
std::string difference_of_a_random_call(const EncodeCudaKernels& table,
                                        const KernelUnderTest& kernel, std::mt19937_64& random);

}  // namespace encode::testing
