// Memory, copies, streams, events and waits of the CUDA runtime.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

#include <cuda_runtime_api.h>

#include "memory.h"
#include "record.h"
#include "status.h"

using runtime_stand_in::keep;
using runtime_stand_in::Place;
using runtime_stand_in::record;

namespace runtime_stand_in {
namespace {

// LibTorch reads a single number through pinned memory, too.
constexpr size_t kSingleNumberBytes = sizeof(double);

// Writes what record.h says about numbers that come from the device.
void bring_from_device(bool async, void* to, Place target, size_t bytes) {
  std::memset(to, 0, bytes);
  if (!async || target != Place::kPinned || bytes <= kSingleNumberBytes) return;
  std::fill_n(static_cast<float*>(to), bytes / sizeof(float), 1.0F);
}

// A copy blocks the host if it is not asynchronous. An asynchronous copy into pageable memory
// blocks it too, but LibTorch waits for the stream after such a copy, and that wait is in the
// record.
cudaError_t copy(bool async, void* to, const void* from, size_t bytes) {
  const Place source = place_of(from);
  const Place target = place_of(to);
  record(fmt::format("copy {} {} {} {}", async ? "async" : "sync", name_of(source), name_of(target),
                     bytes));
  if (!async) record("wait copy");
  if (target == Place::kDevice) return cudaSuccess;
  if (source == Place::kDevice) {
    bring_from_device(async, to, target, bytes);
  } else {
    std::memmove(to, from, bytes);
  }
  return cudaSuccess;
}

cudaError_t set(void* to, int value, size_t bytes) {
  record(fmt::format("set {}", bytes));
  if (place_of(to) != Place::kDevice) std::memset(to, value, bytes);
  return cudaSuccess;
}

// A stream or an event is only an address that is like no other.
template <typename Handle>
cudaError_t make_handle(Handle* out) {
  *out = static_cast<Handle>(std::malloc(1));
  return cudaSuccess;
}

cudaError_t wait(const char* what) {
  record(fmt::format("wait {}", what));
  return cudaSuccess;
}

}  // namespace
}  // namespace runtime_stand_in

using runtime_stand_in::copy;
using runtime_stand_in::make_handle;
using runtime_stand_in::wait;

extern "C" {

cudaError_t cudaMalloc(void** out, size_t bytes) {
  return keep(runtime_stand_in::allocate(out, bytes, Place::kDevice));
}
cudaError_t cudaMallocAsync(void** out, size_t bytes, cudaStream_t /*stream*/) {
  return cudaMalloc(out, bytes);
}
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned /*flags*/) {
  return keep(runtime_stand_in::allocate(out, bytes, Place::kPinned));
}
cudaError_t cudaFree(void* block) { return keep(runtime_stand_in::release(block)); }
cudaError_t cudaFreeAsync(void* block, cudaStream_t /*stream*/) { return cudaFree(block); }
cudaError_t cudaFreeHost(void* block) { return cudaFree(block); }
cudaError_t cudaMemGetInfo(size_t* left, size_t* total) {
  *left = runtime_stand_in::device_bytes_left();
  *total = runtime_stand_in::device_bytes();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* address) {
  std::memset(out, 0, sizeof *out);
  const Place place = runtime_stand_in::place_of(address);
  out->type = place == Place::kPageable ? cudaMemoryTypeUnregistered
              : place == Place::kPinned ? cudaMemoryTypeHost
                                        : cudaMemoryTypeDevice;
  out->devicePointer = out->hostPointer = const_cast<void*>(address);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind /*kind*/) {
  return copy(/*async=*/false, to, from, bytes);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t /*stream*/) {
  return copy(/*async=*/true, to, from, bytes);
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return runtime_stand_in::set(to, value, bytes);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t /*stream*/) {
  return runtime_stand_in::set(to, value, bytes);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned /*flags*/, int /*priority*/) {
  return make_handle(out);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  std::free(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t /*stream*/) { return wait("stream"); }
cudaError_t cudaStreamQuery(cudaStream_t /*stream*/) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t /*stream*/, cudaEvent_t /*event*/,
                                unsigned /*flags*/) {
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t /*stream*/, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* /*graph*/,
                                     const cudaGraphNode_t** /*dependencies*/,
                                     const cudaGraphEdgeData** /*edges*/, size_t* /*count*/) {
  if (id != nullptr) *id = 0;
  return cudaStreamIsCapturing(stream, status);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* /*mode*/) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return wait("device"); }

cudaError_t cudaEventCreate(cudaEvent_t* out) { return make_handle(out); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned /*flags*/) {
  return make_handle(out);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  std::free(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t /*event*/, cudaStream_t /*stream*/) { return cudaSuccess; }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t /*event*/, cudaStream_t /*stream*/,
                                     unsigned /*flags*/) {
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t /*event*/) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t /*event*/) { return wait("event"); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t /*start*/, cudaEvent_t /*end*/) {
  *milliseconds = 1;
  return cudaSuccess;
}

}  // extern "C"
