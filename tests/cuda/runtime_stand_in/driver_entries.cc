// The driver's functions that LibTorch asks the runtime for by name: virtual memory, which the
// allocator uses for expandable segments, and the descriptions of tensors for kernels from compute
// capability 9.0 on.
#include <cstring>
#include <string_view>
#include <sys/mman.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "memory.h"
#include "record.h"

namespace runtime_stand_in {
namespace {

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult reserve(CUdeviceptr* out, size_t bytes, size_t /*alignment*/, CUdeviceptr /*at*/,
                 unsigned long long /*flags*/) {
  void* const range =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = reinterpret_cast<CUdeviceptr>(range);
  return CUDA_SUCCESS;
}

CUresult give_back(CUdeviceptr address, size_t bytes) {
  ::munmap(pointer(address), bytes);
  return CUDA_SUCCESS;
}

// The handle of a piece of memory is its size, because a piece without an address has no content.
CUresult create(CUmemGenericAllocationHandle* out, size_t bytes,
                const CUmemAllocationProp* /*properties*/, unsigned long long /*flags*/) {
  if (!take_device_bytes(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = bytes;
  return CUDA_SUCCESS;
}

CUresult release_piece(CUmemGenericAllocationHandle piece) {
  return_device_bytes(piece);
  return CUDA_SUCCESS;
}

CUresult map(CUdeviceptr address, size_t bytes, size_t /*offset*/,
             CUmemGenericAllocationHandle /*piece*/, unsigned long long /*flags*/) {
  map_block(address, bytes);
  return CUDA_SUCCESS;
}

CUresult unmap(CUdeviceptr address, size_t /*bytes*/) {
  unmap_block(address);
  return CUDA_SUCCESS;
}

CUresult allow(CUdeviceptr /*address*/, size_t /*bytes*/, const CUmemAccessDesc* /*access*/,
               size_t /*count*/) {
  return CUDA_SUCCESS;
}

CUresult granularity(size_t* out, const CUmemAllocationProp* /*properties*/,
                     CUmemAllocationGranularity_flags /*flags*/) {
  *out = size_t{2} << 20U;
  return CUDA_SUCCESS;
}

CUresult attribute(int* out, CUdevice_attribute /*attribute*/, CUdevice /*device*/) {
  *out = 1;
  return CUDA_SUCCESS;
}

// The caller passes eleven more arguments, which only the device uses.
CUresult describe_tensor(CUtensorMap* out) {
  *out = {};
  return CUDA_SUCCESS;
}

CUresult error_string(CUresult /*status*/, const char** out) {
  *out = "an error of the stand-in for the CUDA driver";
  return CUDA_SUCCESS;
}

// Stands for each driver function that the stand-in lacks.
CUresult missing() {
  record("missing a function of the CUDA driver");
  return CUDA_ERROR_NOT_SUPPORTED;
}

struct Entry {
  std::string_view name;
  void* function;
};

const Entry kEntries[] = {
    {"cuMemAddressReserve", reinterpret_cast<void*>(reserve)},
    {"cuMemAddressFree", reinterpret_cast<void*>(give_back)},
    {"cuMemCreate", reinterpret_cast<void*>(create)},
    {"cuMemRelease", reinterpret_cast<void*>(release_piece)},
    {"cuMemMap", reinterpret_cast<void*>(map)},
    {"cuMemUnmap", reinterpret_cast<void*>(unmap)},
    {"cuMemSetAccess", reinterpret_cast<void*>(allow)},
    {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(granularity)},
    {"cuDeviceGetAttribute", reinterpret_cast<void*>(attribute)},
    {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(describe_tensor)},
    {"cuGetErrorString", reinterpret_cast<void*>(error_string)},
};

}  // namespace
}  // namespace runtime_stand_in

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** out, unsigned /*version*/,
                                             unsigned long long /*flags*/,
                                             cudaDriverEntryPointQueryResult* result) {
  *out = reinterpret_cast<void*>(runtime_stand_in::missing);
  for (const auto& entry : runtime_stand_in::kEntries) {
    if (entry.name == name) *out = entry.function;
  }
  if (result != nullptr) *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
