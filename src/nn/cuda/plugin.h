// The C interface of libencode_cuda.so, the part of the program that is compiled by nvcc. It holds
// no LibTorch and is opened with dlopen, so that the programs themselves run where no CUDA library
// exists.
#pragma once

#include <cstdint>

extern "C" {

struct EncodeCudaDevice {
  char name[256];
  int32_t major;  // compute capability
  int32_t minor;
  int32_t multiprocessors;
  int64_t total_memory_bytes;
};

// 0, or a cudaError_t. `device` is an ordinal of the CUDA runtime.
int encode_cuda_device(int device, EncodeCudaDevice* out);
}
