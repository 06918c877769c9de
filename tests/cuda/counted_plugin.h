// A libencode_cuda.so for the stand-in that counts the calls of its kernels.
#pragma once

#include <cstdint>

#include "nn/cuda/plugin.h"

extern "C" {

// Returns how often a kernel was launched. `name` is the name that to_string(CudaKernel) returns.
// The count of a name that no kernel has is 0.
int64_t encode_cuda_calls(const char* name);

}  // extern "C"

namespace encode::testing {

// Returns the kernels that the library runs. Each library defines this function: host_plugin.cc or
// emulated_plugin.cc.
EncodeCudaKernels counted_kernels();

}  // namespace encode::testing
