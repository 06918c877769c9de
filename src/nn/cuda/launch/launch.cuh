// Launches kernels and provides shared memory. The kernels use these functions instead of `<<<>>>`
// and `__shared__`, which only nvcc understands. The tests have another launch.cuh
// (tests/nn/cuda/on_cpu), with which g++ compiles the same kernels for the CPU.
#pragma once

#include <cuda_runtime.h>

namespace encode::cuda {

struct LaunchShape {
  dim3 grid;                // blocks
  dim3 block;               // threads of a block
  size_t shared_bytes = 0;  // size of dynamic_shared(), for each block
};

// Launches the kernel on the cudaStream_t `stream` and does not wait for it. Returns 0, or the
// cudaError_t of the launch.
template <typename... Parameters, typename... Arguments>
int launch(void (*kernel)(Parameters...), const LaunchShape& shape, void* stream,
           const Arguments&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  const cudaError_t status = cudaLaunchKernelEx(&config, kernel, arguments...);
  // Clears the error, because LibTorch would take it for an error of its next operation.
  if (status != cudaSuccess) cudaGetLastError();
  return static_cast<int>(status);
}

// Returns an uninitialized array of kCount elements in the shared memory of the block. Calls with
// the same `Purpose`, `T` and `kCount` return the same array.
template <typename Purpose, typename T, int kCount>
__device__ T* shared_array() {
  __shared__ T values[kCount];
  return values;
}

// Returns the block's dynamic shared memory, which has LaunchShape::shared_bytes bytes and is not
// initialized.
__device__ inline uint4* dynamic_shared() {
  extern __shared__ uint4 values[];
  return values;
}

}  // namespace encode::cuda
