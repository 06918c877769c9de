// Checks that the kernels of the CUDA plugin are right on this device.
#pragma once

#include <vector>

#include "nn/cuda/cuda_kernels.h"

namespace encode {

// Runs every kernel of the table on `device` with rows of `type`. Compares the result with a
// reference that LibTorch computes in float32 from the same input and rounds once. Waits for the
// device.
//
// The tolerance of an element is relative to the larger of 1 and the reference:
// - bfloat16: 2^-7, float16: 2^-10. This is the distance between neighbouring numbers of the type
//   at 1. Kernel and reference round once, but a sum in another order can round to a neighbouring
//   number.
// - float32, and all results of pooling: 1e-5. The sums have at most 100 numbers near 1, and each
//   addition rounds by 2^-24.
// - Quantized rows must be the same as the reference. If a norm or an activation quantizes its own
//   result, the rounding of e4m3 (2^-4) is also allowed.
//
// A kernel that cannot be launched does not pass. Throws c10::Error if the device fails while a
// kernel runs, because the device cannot be used after such a failure.
std::vector<KernelFinding> check_kernels(const EncodeCudaKernels& table, at::Device device,
                                         at::ScalarType type);

}  // namespace encode
