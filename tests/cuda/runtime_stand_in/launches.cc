// Kernels: their names, the limits of a launch, and the record of each launch.
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <cuda_runtime_api.h>

#include "device.h"
#include "record.h"
#include "status.h"

namespace runtime_stand_in {
namespace {

constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxGridYz = 65535;
constexpr size_t kUsualSharedBytes = 48 * 1024;

struct Kernel {
  std::string name;                         // mangled
  size_t shared_bytes = kUsualSharedBytes;  // the most dynamic shared memory of a launch
};

// What libraries register when they are opened. Lives until the process ends.
struct Registry {
  std::mutex mutex;
  std::unordered_map<const void*, Kernel> kernels;
  std::unordered_map<const void*, size_t> variables;             // their sizes in bytes
  std::unordered_map<const void*, std::vector<char>> addresses;  // of variables that were asked for
};

Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

struct Configuration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

thread_local std::vector<Configuration> pushed;

// Returns what is wrong with a launch, or "".
std::string fault(const Configuration& launch, const Kernel& kernel) {
  const dim3& grid = launch.grid;
  const unsigned threads = launch.block.x * launch.block.y * launch.block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0) return "an empty launch";
  if (threads > kMaxThreads) return "too many threads in a block";
  if (grid.y > kMaxGridYz || grid.z > kMaxGridYz) return "a grid that is too large";
  if (launch.shared_bytes > kernel.shared_bytes) return "too much shared memory";
  return "";
}

cudaError_t launch(const void* function, const Configuration& launch) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  const auto found = known.kernels.find(function);
  if (found == known.kernels.end()) return keep(cudaErrorInvalidDeviceFunction);
  const Kernel& kernel = found->second;
  const std::string wrong = fault(launch, kernel);
  const auto& [grid, block, shared_bytes, stream] = launch;
  const std::string shape =
      fmt::format("{} grid {} {} {} block {} {} {} shared {}", kernel.name, grid.x, grid.y, grid.z,
                  block.x, block.y, block.z, shared_bytes);
  if (!wrong.empty()) {
    record(fmt::format("refused {}: launch {}", wrong, shape));
    return keep(cudaErrorInvalidConfiguration);
  }
  record("launch " + shape);
  return cudaSuccess;
}

}  // namespace
}  // namespace runtime_stand_in

using runtime_stand_in::Configuration;
using runtime_stand_in::keep;
using runtime_stand_in::launch;
using runtime_stand_in::record;
using runtime_stand_in::registry;

extern "C" {

// nvcc writes calls of these functions into each library.

void** __cudaRegisterFatBinary(void* /*binary*/) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** /*handle*/) {}
char __cudaInitModule(void** /*handle*/) { return 1; }

void __cudaRegisterFunction(void** /*handle*/, const char* function, char* /*device_function*/,
                            const char* name, int /*thread_limit*/, uint3* /*tid*/, uint3* /*bid*/,
                            dim3* /*block*/, dim3* /*grid*/, int* /*warp_size*/) {
  const std::lock_guard lock(registry().mutex);
  registry().kernels[function].name = name;
}

void __cudaRegisterVar(void** /*handle*/, char* variable, char* /*address*/, const char* /*name*/,
                       int /*is_extern*/, size_t bytes, int /*is_constant*/, int /*is_global*/) {
  const std::lock_guard lock(registry().mutex);
  registry().variables[variable] = bytes;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     CUstream_st* stream) {
  runtime_stand_in::pushed.push_back({grid, block, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                       void* stream) {
  const Configuration last = runtime_stand_in::pushed.back();
  runtime_stand_in::pushed.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  std::memcpy(stream, &last.stream, sizeof last.stream);
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** /*arguments*/,
                               size_t shared_bytes, cudaStream_t stream) {
  return launch(kernel, {grid, block, shared_bytes, stream});
}

}  // extern "C"

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** /*arguments*/,
                             size_t shared_bytes, cudaStream_t stream) {
  return launch(function, {grid, block, shared_bytes, stream});
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                        void** /*arguments*/, size_t shared_bytes,
                                        cudaStream_t stream) {
  return launch(function, {grid, block, shared_bytes, stream});
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** /*arguments*/) {
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const bool early = config->attrs[i].id == cudaLaunchAttributeProgrammaticStreamSerialization &&
                       config->attrs[i].val.programmaticStreamSerializationAllowed != 0;
    if (!early || runtime_stand_in::architecture().code >= 90) continue;
    record("refused early start: launch");
    return keep(cudaErrorNotSupported);
  }
  return launch(function,
                {config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream});
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* function) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().kernels.find(function);
  if (found == registry().kernels.end()) return keep(cudaErrorInvalidDeviceFunction);
  std::memset(out, 0, sizeof *out);
  out->maxThreadsPerBlock = runtime_stand_in::kMaxThreads;
  out->numRegs = 64;
  out->binaryVersion = out->ptxVersion = runtime_stand_in::architecture().code;
  out->maxDynamicSharedSizeBytes = static_cast<int>(found->second.shared_bytes);
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  const std::lock_guard lock(registry().mutex);
  if (value > runtime_stand_in::architecture().shared_memory_bytes) {
    record(fmt::format("refused {} bytes of shared memory: attribute {}", value,
                       registry().kernels[function].name));
    return keep(cudaErrorInvalidValue);
  }
  registry().kernels[function].shared_bytes = static_cast<size_t>(value);
  return cudaSuccess;
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  const std::lock_guard lock(registry().mutex);
  std::vector<char>& memory = registry().addresses[symbol];
  memory.resize(std::max<size_t>(registry().variables[symbol], 1));
  *address = memory.data();
  return cudaSuccess;
}
