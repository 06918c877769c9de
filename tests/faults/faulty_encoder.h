// An encoder that fails on request, as a device would: with the exception types of LibTorch, with
// wrong values, or by ending or blocking the process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "encode/encoder.h"

namespace encode::testing {

// One fault: what happens, and when.
struct Fault {
  // oom, nvml        the device is out of memory; NVML does not answer
  // cuda, assert     CUDA errors 700 and 710; every later call fails, too
  // cublas           an error of a library; every later call fails, too
  // late             as cuda, but all batches are computed before the error comes
  // refused          LibTorch refuses an operation
  // bad_alloc        the host is out of memory
  // slow             the batch takes 100 ms longer
  // nan, inf, zero, norm   the vector of the row is wrong
  // abort, segv, kill, exit75, hang   the process ends or blocks
  // absent, unlike   only with "load": there is no device; it is one of another kind
  std::string what;
  // "token:N"   in each batch that has the token N
  // "ahead:N"   if a batch with the token N is one of the first batches of the next window, as on a
  //             GPU, which begins these before it ends a window
  // "batch:N"   in the N-th batch of the process
  // "above:N"   in each batch of more than N tokens
  // "every:N"   in each N-th batch of all processes of this fault's worker
  // "load"      when the model was loaded
  std::string when;
  int64_t times = 0;    // over all processes; the count is in a file
  int64_t worker = -1;  // the number of the worker of the run; -1: any worker
};

// Parses faults: "<what>@<when>*<times>", joined by ";". "nan@token:1*9999" gives each row that has
// token 1 a NaN. "kill@batch:2*1~1" is a fault of worker 1.
std::vector<Fault> parse_faults(const std::string& text);

// `counters` is the path of a folder for the counts. Throws if a fault happens when the model is
// loaded.
std::unique_ptr<Encoder> with_faults(std::unique_ptr<Encoder> encoder, std::vector<Fault> faults,
                                     std::string counters);

}  // namespace encode::testing
