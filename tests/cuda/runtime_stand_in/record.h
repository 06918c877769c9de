// A stand-in for NVIDIA's libraries, under LibTorch's real libtorch_cuda.so, on machines without a
// GPU. No kernel runs, so every number that a kernel would write is missing. All else is real:
// LibTorch's checks of arguments, the choice of kernels, launches, allocations, copies and waits.
// link.py makes libraries with NVIDIA's names of these sources.
//
// The rules:
//   - Memory of the device is a range of addresses without content. A program that reads or writes
//     it on the host ends with SIGSEGV.
//   - What a copy brings from the device is zero, because no kernel has computed it. A check that
//     computes a difference on the device therefore finds none.
//   - One kind of copy brings float32 ones: an asynchronous copy of more than one number into
//     pinned memory. The encoder reads its vectors in this way, and a vector of zeros is an error.
//     The encoder normalizes on the host, so vectors of norm 1 result if the model normalizes. All
//     vectors are equal, whatever their batch.
//   - A function that the stand-in lacks writes the line "missing NAME" and returns 0.
//
// The environment sets up the device:
//   RUNTIME_STAND_IN_CAPABILITY  compute capability times 10 (90)
//   RUNTIME_STAND_IN_MIB         memory of the device in MiB (143771)
//   RUNTIME_STAND_IN_LOG         a file; each process appends its record to FILE.PID
//
// Each line of the record is one call; its first word is its kind:
//   launch NAME ..           a kernel, with its mangled name
//   product NAME ..          a matrix product of cuBLAS
//   copy HOW FROM TO BYTES   HOW is "sync" or "async"; FROM and TO are device, pinned or pageable
//   set BYTES                a memset
//   wait KIND                the host waits: event, stream, device, or a copy that is synchronous
//   allocate PLACE BYTES     PLACE is device or pinned
//   free PLACE BYTES
//   refused ..               a call with an argument that a real device refuses
//   missing NAME             a function that the stand-in lacks
//   mark TEXT                from the program that uses the stand-in
#pragma once

#include <cstdint>
#include <string_view>

extern "C" {
// Appends a line to the record of this process. Any number of threads may call it.
void runtime_stand_in_record(const char* line);
}

namespace runtime_stand_in {

void record(std::string_view line);
// Returns the number in an environment variable, or `usual` if it is not set.
int64_t setting(const char* name, int64_t usual);

}  // namespace runtime_stand_in
