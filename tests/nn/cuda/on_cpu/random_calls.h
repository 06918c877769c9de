// Calls of the plugin's kernels with random shapes, compared with the host's reference.
#pragma once

#include <cstdint>
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
  bool to_fp8 = false;  // the launcher also quantizes its result
};

std::string name_of(const KernelUnderTest& kernel);  // "rms_norm_bfloat16_to_fp8"

// All launchers for all types, and to fp8 those that can.
std::vector<KernelUnderTest> kernels_under_test();

// Calls the kernel in `table` and the reference once with the same random arguments. Returns the
// first difference, or "". The tolerance is two steps of the type (2e-5 in float32), relative to
// the larger of 1 and the reference; quantize_rows must give the same bits. Buffers have guard
// zones, in which a write is an error and which make a read a NaN.
std::string difference_of_a_random_call(const EncodeCudaKernels& table,
                                        const KernelUnderTest& kernel, std::mt19937_64& random);

}  // namespace encode::testing
