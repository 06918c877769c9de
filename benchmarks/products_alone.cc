// How fast the products of a model are by themselves, on all threads, with the engine's blocks:
//
//   products_alone --model DIR [--dtype float32|bfloat16] [--threads N] [--seconds S]
//
// prints one JSON object. scripts/bench/stages.py sets it against a run.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "encode/error.h"

#include "base/host.h"
#include "base/json.h"
#include "encoder_products.h"
#include "engine/thread_pool.h"

namespace {

using encode::benchmarks::EncoderProducts;
using encode::benchmarks::EncoderShape;
using Clock = std::chrono::steady_clock;

struct Flags {
  std::string model;
  std::string dtype = "float32";
  int64_t threads = 0;
  double seconds = 5;
};

Flags parse(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--model") flags.model = value;
    if (name == "--dtype") flags.dtype = value;
    if (name == "--threads") flags.threads = std::atoll(value.c_str());
    if (name == "--seconds") flags.seconds = std::atof(value.c_str());
  }
  if (flags.threads == 0) flags.threads = encode::cpu_quota();
  return flags;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double thread_cpu_seconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  constexpr double kNano = 1e-9;
  return static_cast<double>(time.tv_sec) + kNano * static_cast<double>(time.tv_nsec);
}

// What all threads did together: rates of threads add up, whenever each of them ended.
struct Totals {
  double tokens_per_second = 0;
  double tokens = 0;
  double cpu_seconds = 0;
};

Totals measure(const EncoderProducts& products, const EncoderShape& shape, const Flags& flags) {
  const at::ScalarType type = flags.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat;
  encode::ThreadPool pool(flags.threads, [] { at::set_num_threads(1); });
  Totals totals;
  std::mutex mutex;
  // As many iterations as threads, each as long as the whole: every thread takes one.
  pool.run(pool.threads(), [&](int64_t) {
    const c10::InferenceMode inference;
    const at::Tensor x =
        encode::benchmarks::random_matrix(encode::kCpuBlockTokens, shape.hidden_size, type);
    products.run(x);
    const Clock::time_point start = Clock::now();
    const double cpu_start = thread_cpu_seconds();
    int64_t tokens = 0;
    while (seconds_since(start) < flags.seconds) {
      products.run(x);
      tokens += x.size(0);
    }
    const std::lock_guard lock(mutex);
    totals.tokens_per_second += static_cast<double>(tokens) / seconds_since(start);
    totals.tokens += static_cast<double>(tokens);
    totals.cpu_seconds += thread_cpu_seconds() - cpu_start;
  });
  return totals;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Flags flags = parse(argc, argv);
    const EncoderShape shape = EncoderShape::of(flags.model);
    const at::ScalarType type = flags.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat;
    const Totals totals = measure(EncoderProducts(shape, type), shape, flags);
    constexpr double kGiga = 1e9;
    const encode::Json result = {
        {"dtype", flags.dtype},
        {"threads", flags.threads},
        {"tokens_per_second", totals.tokens_per_second},
        {"tokens_per_cpu_second", totals.tokens / totals.cpu_seconds},
        {"gflops", totals.tokens_per_second * shape.flops_per_token() / kGiga}};
    std::printf("%s\n", result.dump().c_str());
    return 0;
  } catch (const encode::Error& error) {
    std::fprintf(stderr, "%s\n", encode::render(error.detail()).c_str());
    return static_cast<int>(error.detail().exit_code);
  }
}
