#include <cstdio>

#include <cuda_runtime_api.h>

#include "launchers.h"

extern "C" int encode_cuda_device(int device, EncodeCudaDevice* out) {
  cudaDeviceProp properties;
  const cudaError_t status = cudaGetDeviceProperties(&properties, device);
  if (status != cudaSuccess) return static_cast<int>(status);
  std::snprintf(out->name, sizeof out->name, "%s", properties.name);
  out->major = properties.major;
  out->minor = properties.minor;
  out->multiprocessors = properties.multiProcessorCount;
  out->total_memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  return 0;
}

extern "C" const EncodeCudaKernels* encode_cuda_kernels(void) {
  static const EncodeCudaKernels kernels = {
      encode::cuda::layer_norm,     encode::cuda::rms_norm,      encode::cuda::rotary,
      encode::cuda::activation,     encode::cuda::gated,         encode::cuda::embedding,
      encode::cuda::pool,           encode::cuda::quantize_rows, encode::cuda::attention,
      encode::cuda::short_attention};
  return &kernels;
}
