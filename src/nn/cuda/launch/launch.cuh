// Launches kernels and provides shared memory. The kernels use these functions instead of `<<<>>>`
// and `__shared__`, which only nvcc understands. The tests have another launch.cuh
// (tests/nn/cuda/on_cpu), with which g++ compiles the same kernels for the CPU.
#pragma once

#include <array>
#include <atomic>

#include <cuda_runtime.h>

namespace encode::cuda {

// Waits until the kernels before this one in the stream have ended and their results can be read.
// launch() lets the device start the blocks of a kernel while the kernel before it ends, so every
// thread of every kernel calls this before it reads or writes global memory. A kernel with a thread
// that does not wait could end before a kernel that was launched earlier. Source: "Programmatic
// Dependent Launch" in NVIDIA's CUDA Programming Guide. Devices before 9.0 start a kernel only when
// the kernel before it has ended, so in code for them this function does nothing.
__device__ inline void wait_for_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// Returns the compute capability, times 10, for which the code of the kernels on the current device
// was compiled, or -1 if it is unknown. It can be less than that of the device, because a newer
// device may run code that was compiled for an earlier one. All kernels are compiled for the same
// devices, so the answer for `kernel` is the answer for all of them. Any thread may call it.
inline int code_version(const void* kernel) {
  constexpr int kNotAsked = 0;
  constexpr int kUnknown = -1;
  static std::array<std::atomic<int>, 64> versions{};  // by device
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device >= static_cast<int>(versions.size()))
    return kUnknown;
  std::atomic<int>& version = versions[static_cast<size_t>(device)];
  if (version.load(std::memory_order_relaxed) == kNotAsked) {
    cudaFuncAttributes attributes = {};
    const bool known = cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess;
    if (!known) cudaGetLastError();
    version.store(known ? attributes.ptxVersion : kUnknown, std::memory_order_relaxed);
  }
  return version.load(std::memory_order_relaxed);
}

// Returns true if the kernels wait in wait_for_earlier_kernels().
inline bool kernels_wait(const void* kernel) { return code_version(kernel) >= 90; }

// Returns true if the kernels can call the functions of warp_matrix.cuh.
inline bool has_tensor_cores(const void* kernel) { return code_version(kernel) >= 80; }

struct LaunchShape {
  dim3 grid;                // blocks
  dim3 block;               // threads of a block
  size_t shared_bytes = 0;  // size of dynamic_shared(), for each block
};

// Launches the kernel on the cudaStream_t `stream` and does not wait for it. From compute
// capability 9.0 on, the kernel may start before the kernel before it has ended. Returns 0, or the
// cudaError_t of the launch.
template <typename... Parameters, typename... Arguments>
int launch(void (*kernel)(Parameters...), const LaunchShape& shape, void* stream,
           const Arguments&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  cudaLaunchAttribute early_start = {};
  early_start.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early_start.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early_start;
  config.numAttrs = kernels_wait(reinterpret_cast<const void*>(kernel)) ? 1 : 0;
  const cudaError_t status = cudaLaunchKernelEx(&config, kernel, arguments...);
  // Clears the error. Otherwise LibTorch would report it as an error of its next operation.
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
