// Whether the kernels of the CUDA plugin are right on this device.
#pragma once

#include <vector>

#include "nn/cuda/kernels.h"

namespace encode {

// Runs every kernel of the table on `device` in rows of `type`. The reference is computed in
// float32 from the same input and rounded once. Tolerance at each element, relative to the larger
// of 1 and the reference: one step of the type (2^-7 bfloat16, 2^-10 float16), since both round
// once and a different order of a float32 sum moves a result across a rounding boundary; 1e-5 in
// float32 and for pooling, whose results are float32 (sums of at most 100 numbers near 1, 2^-24
// each). Quantized rows: the same values from the same rows; a kernel that quantizes what it makes
// may be off by e4m3's own rounding (2^-4) too. A launch that fails is a refusal; a fault of the
// device while a kernel runs is thrown as c10::Error, since nothing works after it. Waits for the
// device.
std::vector<KernelFinding> check_kernels(const EncodeCudaKernels& table, at::Device device,
                                         at::ScalarType type);

}  // namespace encode
