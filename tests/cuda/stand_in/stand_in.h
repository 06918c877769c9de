// A stand-in for libtorch_cuda.so on machines without a GPU: LibTorch's device type "cuda" with
// real numbers. Device memory is host memory, and every operation runs LibTorch's CPU kernel on it.
// The stand-in also imitates asynchronous work: a copy to pinned memory arrives at the next wait,
// and a failed launch is reported at the next wait. New memory holds NaN.
//
// The environment sets up the device. Each variable is read once, when the library is opened.
//   STAND_IN_DEVICES            number of devices (1)
//   STAND_IN_MEMORY_BYTES       memory of a device (8 GiB). A request beyond this size fails with
//                               c10::OutOfMemoryError
//   STAND_IN_FAIL_ALLOCATION    N: the N-th request for device memory fails with
//                               c10::OutOfMemoryError
//   STAND_IN_FAIL_LAUNCH        N: the N-th launch fails. The next wait reports it as
//                               c10::AcceleratorError 700, and so does every later call
//   STAND_IN_UNEQUAL_ROWS       "N,M,..": a matrix product of N or M rows gives the rows of its
//                               second half other bits. It is read at each product
//   STAND_IN_COUNTS             a path: each wait writes the numbers of launches and of requests
//   for
//                               device memory so far into this file, in decimal
//   STAND_IN_FAIL_ONCE          a path: a failure happens only if this file can be created, so that
//                               a second process does not fail again
#pragma once

#include <cstdint>

extern "C" {

// Counts what the process has asked of the devices so far. Each count is the total of all devices.
struct CudaStandInCounts {
  int64_t launches;            // operations and kernels that a GPU would run
  int64_t waits;               // how often the host waits for an event, a stream or a pageable copy
  int64_t device_allocations;  // blocks that the caching allocator had to take from the device
  int64_t pinned_allocations;  // blocks of pinned host memory that had to be made
  // What the launches read and write in device memory, without the weights of matrix products. A
  // tensor that an operation reads in part counts as a whole.
  int64_t bytes;
};

// Returns the counts so far. Any number of threads may call it.
struct CudaStandInCounts cuda_stand_in_counts(void);

// Counts a launch of a kernel that does not go through LibTorch, which reads and writes `bytes`.
// The plugins of the tests call it. Returns 0, or the cudaError_t that the runtime returns for each
// call after the device has failed.
int cuda_stand_in_launched(int64_t bytes);

}  // extern "C"
