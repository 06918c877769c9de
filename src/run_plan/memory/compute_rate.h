// How fast a device computes: measured, or assumed from its data sheet. Any thread may call the
// functions. They throw no Error.
#pragma once

#include <cstdint>
#include <string>

#include "encode/model_directory.h"

#include "run_plan/memory/cards.h"
#include "run_plan/memory/memory_estimate.h"

namespace encode {

// Multiplications and additions a second.
struct ComputeRate {
  double flops_per_second = 0;  // 0: not known
  // The range of the rate. If it was measured, both are equal to it.
  double least_flops = 0;
  double most_flops = 0;
  // If above 0, the user has given this rate. It then decides the time, and no other member does.
  double tokens_per_second = 0;
  bool measured = false;    // by `encode plan --profile`
  std::string source = {};  // "measured: 0.42 TFLOP/s", "assumed: 10 to 60 % of 989 TFLOP/s ..."
};
ComputeRate measured_rate(double flops_per_second);
// `origin` says where the user has it from: "given".
ComputeRate given_rate(double tokens_per_second, const std::string& origin);
// `card` may be null; the rate is not known then.
ComputeRate assumed_gpu_rate(const GpuCard* card, const EffectiveResult& effective);
ComputeRate assumed_cpu_rate(ComputeType type, int64_t threads);

// How long encoding takes, in seconds. All members are 0 if the rate is not known or there are no
// texts.
struct EncodingTime {
  double seconds = 0;  // at ComputeRate::flops_per_second
  double least = 0;    // at ComputeRate::most_flops
  double most = 0;     // at ComputeRate::least_flops

  void add(const EncodingTime& other);
  void divide(double speed);  // the times on a device that is `speed` times as fast
};

// Returns the time to encode the texts of the request: their tokens at a given rate; or their
// operations at the rate, and a fixed time for each batch, but no less than the time to read and
// tokenize them.
EncodingTime encoding_time(const MemoryRequest& request, const ComputeRate& rate);

// "cpu (avx512bf16)", as engine/device_facts.cc names the CPU of this machine.
std::string cpu_name();

}  // namespace encode
