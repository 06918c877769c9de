#include "engine/product_bench.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include "base/stopwatch.h"
#include "engine/device_facts.h"
#include "nn/cuda/cuda_device.h"
#include "nn/layers/product_trace.h"
#include "nn/products/row_blocks.h"

namespace encode {
namespace {

double thread_cpu_seconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  constexpr double kNano = 1e-9;
  return static_cast<double>(time.tv_sec) + kNano * static_cast<double>(time.tv_nsec);
}

at::Tensor random_matrix(int64_t rows, int64_t columns, at::ScalarType type, at::Device device) {
  return at::randn({rows, columns}, at::TensorOptions().dtype(at::kFloat).device(device)).to(type);
}

// The implementation of ProductBench::run(). One thread at a time may use it.
class ProductTimer {
 public:
  // Both arguments must outlive the timer.
  ProductTimer(const Transformer& transformer, ThreadPool& pool)
      : transformer_(transformer), pool_(pool) {}

  // Runs the model on the batch and records its matrix products. `slots` is the same as for
  // Transformer::embed(). Throws what check_batch() throws.
  void add(const PackedBatch& batch, int64_t slots);

  // Each thread of the pool repeats the matrix products of all batches, in order, for about
  // `seconds`, which is at least 0, and then a large square product for a quarter of that time.
  // Each thread computes at least one batch. Calls `go_on` after each batch, from any thread, and
  // ends early if `go_on` returns false. Throws no Error, only c10::Error if the device fails.
  ProductRates run(double seconds, const std::function<bool()>& go_on) const;

 private:
  struct BatchProducts {
    std::vector<TracedProduct> products;
    int64_t tokens = 0;

    double flops() const;
  };
  class Activations;
  struct Work;

  BatchProducts square() const;
  Work on_all_threads(const std::vector<BatchProducts>& batches, double seconds,
                      const std::function<bool()>& go_on) const;
  Work on_one_thread(const std::vector<BatchProducts>& batches, double seconds,
                     const std::function<bool()>& go_on) const;

  const Transformer& transformer_;
  ThreadPool& pool_;
  std::vector<BatchProducts> batches_;
};

double ProductTimer::BatchProducts::flops() const {
  double sum = 0;
  for (const TracedProduct& product : products) sum += product.flops();
  return sum;
}

// Random inputs of the matrix products: one matrix for each type and width. A product with n rows
// takes the first n rows of its matrix.
class ProductTimer::Activations {
 public:
  Activations(const std::vector<BatchProducts>& batches, at::Device device) {
    std::map<Key, int64_t> rows;
    for (const BatchProducts& batch : batches) {
      for (const TracedProduct& product : batch.products) {
        const auto need = [&](const Key& key) { rows[key] = std::max(rows[key], product.rows); };
        need(input_of(product));
        if (product.call == TracedProduct::Call::kAddInBlocks) need(residual_of(product));
      }
    }
    for (const auto& [key, count] : rows)
      matrices_[key] = random_matrix(count, key.second, key.first, device);
  }

  void run(const TracedProduct& product) const {
    const at::Tensor x = matrices_.at(input_of(product)).narrow(0, 0, product.rows);
    switch (product.call) {
      case TracedProduct::Call::kWhole:
      case TracedProduct::Call::kAddInPlace:
        product.linear(x);
        return;
      case TracedProduct::Call::kInBlocks:
        product.linear.in_blocks(x);
        return;
      case TracedProduct::Call::kAddInBlocks:
        product.linear.add(x, matrices_.at(residual_of(product)).narrow(0, 0, product.rows));
        return;
    }
  }

 private:
  using Key = std::pair<at::ScalarType, int64_t>;  // type, columns

  static Key input_of(const TracedProduct& product) { return {product.type, product.in_features}; }
  static Key residual_of(const TracedProduct& product) {
    return {product.type, product.linear.out_features()};
  }

  std::map<Key, at::Tensor> matrices_;
};

// The work of one thread, or of all threads. The threads do not end at the same time, so each
// thread has its own rates, which are then added.
struct ProductTimer::Work {
  double tokens = 0;
  double cpu_seconds = 0;
  double tokens_per_second = 0;
  double flops_per_second = 0;
};

void ProductTimer::add(const PackedBatch& batch, int64_t slots) {
  check_batch(batch, transformer_);
  const c10::InferenceMode inference;
  transformer_.trace->start();
  transformer_.embed(batch, slots);
  batches_.push_back({.products = transformer_.trace->stop(), .tokens = batch.tokens()});
}

ProductRates ProductTimer::run(double seconds, const std::function<bool()>& go_on) const {
  ProductRates rates;
  rates.threads = pool_.threads();
  double flops = 0;
  double tokens = 0;
  for (const BatchProducts& batch : batches_) {
    flops += batch.flops();
    tokens += static_cast<double>(batch.tokens);
  }
  if (flops == 0) return rates;
  rates.flops_per_token = flops / tokens;
  const Work model = on_all_threads(batches_, seconds, go_on);
  rates.tokens_per_second = model.tokens_per_second;
  if (transformer_.device.is_cpu()) rates.tokens_per_cpu_second = model.tokens / model.cpu_seconds;
  try {
    constexpr double kShare = 0.25;  // one shape needs less time than all shapes of a model
    rates.square_flops_per_second =
        on_all_threads({square()}, kShare * seconds, go_on).flops_per_second;
  } catch (const c10::OutOfMemoryError&) {
    rates.square_flops_per_second = 0;
  }
  return rates;
}

// Returns a matrix product of a size at which the device is fastest.
ProductTimer::BatchProducts ProductTimer::square() const {
  const at::Device device = transformer_.device;
  const int64_t width = device.is_cpu() ? 2048 : 8192;
  const int64_t rows = device.is_cpu() ? kProductBlockRows : width;
  const at::ScalarType type = batches_.front().products.front().type;
  TracedProduct product = {
      .linear = Linear({random_matrix(width, width, type, device)}, {}, Activation::kNone,
                       {.format = transformer_.format}),
      .call = device.is_cpu() ? TracedProduct::Call::kInBlocks : TracedProduct::Call::kWhole,
      .type = type,
      .rows = rows,
      .in_features = width};
  return {.products = {std::move(product)}, .tokens = rows};
}

ProductTimer::Work ProductTimer::on_all_threads(const std::vector<BatchProducts>& batches,
                                                double seconds,
                                                const std::function<bool()>& go_on) const {
  Work total;
  std::mutex mutex;
  // There are as many iterations as threads, and each iteration lasts until the end, so every
  // thread runs exactly one of them.
  pool_.run(pool_.threads(), [&](int64_t) {
    const Work work = on_one_thread(batches, seconds, go_on);
    const std::lock_guard lock(mutex);
    total.tokens += work.tokens;
    total.cpu_seconds += work.cpu_seconds;
    total.tokens_per_second += work.tokens_per_second;
    total.flops_per_second += work.flops_per_second;
  });
  return total;
}

ProductTimer::Work ProductTimer::on_one_thread(const std::vector<BatchProducts>& batches,
                                               double seconds,
                                               const std::function<bool()>& go_on) const {
  const c10::InferenceMode inference;
  const Activations activations(batches, transformer_.device);
  const auto run_batch = [&](const BatchProducts& batch) {
    for (const TracedProduct& product : batch.products) activations.run(product);
    synchronize(transformer_.device);
  };
  run_batch(batches.front());  // not timed, because the first use of a kernel may be slow
  const Stopwatch watch;
  const double cpu_start = thread_cpu_seconds();
  Work work;
  double flops = 0;
  for (size_t i = 0; work.tokens == 0 || (watch.seconds() < seconds && go_on()); ++i) {
    const BatchProducts& batch = batches[i % batches.size()];
    run_batch(batch);
    work.tokens += static_cast<double>(batch.tokens);
    flops += batch.flops();
  }
  const double elapsed = watch.seconds();
  work.cpu_seconds = thread_cpu_seconds() - cpu_start;
  work.tokens_per_second = work.tokens / elapsed;
  work.flops_per_second = flops / elapsed;
  return work;
}

}  // namespace

ProductBench::ProductBench(const ModelDirectory& directory, const EffectiveResult& effective,
                           const EncoderOptions& options)
    : loaded_(load_transformer(directory, effective, options)),
      pool_(compute_threads(loaded_.transformer.device, options.threads),
            [] { at::set_num_threads(1); }),
      device_(device_facts(loaded_.transformer.device, pool_.threads())) {}

ProductRates ProductBench::run(std::span<const PackedBatch> batches, double seconds,
                               const std::function<bool()>& go_on) {
  ProductTimer timer(loaded_.transformer, pool_);
  for (const PackedBatch& batch : batches)
    timer.add(batch, loaded_.transformer.token_slots(batch.tokens()));
  return timer.run(seconds, go_on);
}

}  // namespace encode
