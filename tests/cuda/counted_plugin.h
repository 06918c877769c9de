// A libencode_cuda.so for the stand-in that counts the calls of its kernels.
#pragma once

#include <cstdint>

#include "nn/cuda/plugin.h"

extern "C" {

// Returns how often a kernel was launched. `name` is the name that to_string(CudaKernel) returns,
// or "product" for the matrix products of EncodeCudaProducts. The count of a name that no kernel
// has is 0.
int64_t encode_cuda_calls(const char* name);

}  // extern "C"

namespace encode::testing {

// Returns the kernels that the library runs. Each library defines this function: host_plugin.cc or
// emulated_plugin.cc.
EncodeCudaKernels counted_kernels();
// Returns the matrix products of the library, or null if it has none.
const EncodeCudaProducts* counted_products();

// Counts a launch with this name and tells the stand-in about it. Returns 0 or a cudaError_t.
int count_launch(const char* name, int64_t bytes);

}  // namespace encode::testing
