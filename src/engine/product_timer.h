// Times the matrix products of a model alone, without the operations between them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "encode/product_rates.h"

#include "base/thread_pool.h"
#include "engine/transformer.h"
#include "nn/layers/product_trace.h"

namespace encode {

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

}  // namespace encode
