// A model's matrix products by themselves, on the device and threads of its encoder.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "encode/product_rates.h"

#include "base/thread_pool.h"
#include "engine/transformer.h"
#include "nn/layers/product_trace.h"

namespace encode {

// What Encoder::time_products() is made of. One thread.
class ProductTimer {
 public:
  // Both must outlive it.
  ProductTimer(const Transformer& transformer, ThreadPool& pool)
      : transformer_(transformer), pool_(pool) {}

  // Runs the model on the batch and remembers the products that it asks for. `slots`: as for
  // Transformer::embed(). Throws as check_batch() does.
  void add(const PackedBatch& batch, int64_t slots);

  // Each thread of the pool goes through the products of all batches in order, over and over.
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
