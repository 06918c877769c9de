// The functions of the CUDA runtime that describe the device.
#include "device.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <cuda_runtime_api.h>

#include "memory.h"
#include "record.h"
#include "status.h"

namespace runtime_stand_in {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kUsualSharedBytes = 48 * 1024;
constexpr int kWarp = 32;
constexpr int kRegisters = 65536;
constexpr int kVersion = 13000;

// The limits are from the CUDA C++ Programming Guide, "Compute Capabilities". The wheel of LibTorch
// has machine code for 7.5, 8.0, 8.6, 9.0, 10.0 and 12.0; a GPU of 8.9 runs the code for 8.6.
constexpr std::array<Architecture, 6> kArchitectures = {{
    {75, 75, 40, 1024, 64 * 1024, "T4"},
    {80, 80, 108, 2048, 163 * 1024, "A100"},
    {89, 86, 58, 1536, 99 * 1024, "L4"},
    {90, 90, 132, 2048, 227 * 1024, "H200"},
    {100, 100, 148, 2048, 227 * 1024, "B200"},
    {120, 120, 170, 1536, 99 * 1024, "RTX 5090"},
}};

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t keep(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

const Architecture& architecture() {
  static const Architecture& chosen = [&]() -> const Architecture& {
    const int64_t asked = setting("RUNTIME_STAND_IN_CAPABILITY", 90);
    for (const Architecture& each : kArchitectures) {
      if (each.capability == asked) return each;
    }
    std::fprintf(stderr, "RUNTIME_STAND_IN_CAPABILITY: no architecture %lld\n",
                 static_cast<long long>(asked));
    std::exit(1);
  }();
  return chosen;
}

}  // namespace runtime_stand_in

using runtime_stand_in::Architecture;
using runtime_stand_in::architecture;
using runtime_stand_in::keep;

cudaError_t cudaGetLastError() { return std::exchange(runtime_stand_in::last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return runtime_stand_in::last_error; }

const char* cudaGetErrorName(cudaError_t status) {
  switch (status) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    default:
      return "an error of the stand-in for the CUDA runtime";
  }
}
const char* cudaGetErrorString(cudaError_t status) { return cudaGetErrorName(status); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : keep(cudaErrorInvalidDevice);
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = runtime_stand_in::kVersion;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaDeviceGetPCIBusId(char* out, int length, int /*device*/) {
  std::snprintf(out, static_cast<size_t>(length), "0000:00:00.0");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int /*device*/, int /*peer*/) {
  *can = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int device) {
  if (device != 0) return keep(cudaErrorInvalidDevice);
  const Architecture& arch = architecture();
  std::memset(out, 0, sizeof *out);
  std::snprintf(out->name, sizeof out->name, "stand-in for %s", arch.usual_device);
  out->major = arch.capability / 10;
  out->minor = arch.capability % 10;
  out->multiProcessorCount = arch.multiprocessors;
  out->totalGlobalMem = runtime_stand_in::device_bytes();
  out->maxThreadsPerBlock = runtime_stand_in::kMaxThreads;
  out->maxThreadsPerMultiProcessor = arch.threads;
  out->maxBlocksPerMultiProcessor = 16;
  out->warpSize = runtime_stand_in::kWarp;
  out->regsPerBlock = out->regsPerMultiprocessor = runtime_stand_in::kRegisters;
  out->sharedMemPerBlock = runtime_stand_in::kUsualSharedBytes;
  out->sharedMemPerBlockOptin = static_cast<size_t>(arch.shared_memory_bytes);
  out->sharedMemPerMultiprocessor = static_cast<size_t>(arch.shared_memory_bytes) + 1024;
  out->maxThreadsDim[0] = out->maxThreadsDim[1] = 1024;
  out->maxThreadsDim[2] = 64;
  out->maxGridSize[0] = 2147483647;
  out->maxGridSize[1] = out->maxGridSize[2] = 65535;
  out->l2CacheSize = 50 << 20;
  out->memoryBusWidth = 5120;
  out->concurrentKernels = out->unifiedAddressing = out->cooperativeLaunch = 1;
  out->memPitch = 2147483647;
  out->textureAlignment = 512;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr attribute, int /*device*/) {
  const Architecture& arch = architecture();
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *out = arch.capability / 10;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *out = arch.capability % 10;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *out = arch.multiprocessors;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *out = arch.shared_memory_bytes;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *out = runtime_stand_in::kUsualSharedBytes;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
      *out = runtime_stand_in::kMaxThreads;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *out = arch.threads;
      return cudaSuccess;
    case cudaDevAttrWarpSize:
      *out = runtime_stand_in::kWarp;
      return cudaSuccess;
    case cudaDevAttrMaxGridDimX:
      *out = 2147483647;
      return cudaSuccess;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *out = 65535;
      return cudaSuccess;
    default:
      *out = 0;
      return cudaSuccess;
  }
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   const void* /*function*/,
                                                                   int threads, size_t shared_bytes,
                                                                   unsigned /*flags*/) {
  const Architecture& arch = architecture();
  *blocks = std::max(1, arch.threads / std::max(threads, 1));
  if (shared_bytes > 0)
    *blocks = std::min(*blocks, arch.shared_memory_bytes / static_cast<int>(shared_bytes));
  return cudaSuccess;
}
