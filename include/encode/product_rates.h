// The speed of a model's matrix products without the rest of the model. Plain data.
#pragma once

#include <cstdint>

namespace encode {

// The rates count only the matrix products with weights, in the shapes of a forward pass. They
// leave out attention's products (scores and values) and everything between the matrix products. So
// they are an upper limit for the speed of a run. All rates are 0 for a model without matrix
// products with weights (static embeddings).
struct ProductRates {
  int64_t threads = 0;           // the threads that computed; 1 on a GPU
  double flops_per_token = 0;    // 2 x in_features x out_features, summed over a token's products
  double tokens_per_second = 0;  // of all threads together
  double tokens_per_cpu_second = 0;  // per second of CPU time of the threads; 0 on a GPU
  // The speed of one large matrix product in the same type; 0: out of memory.
  double square_flops_per_second = 0;

  bool operator==(const ProductRates&) const = default;
};

}  // namespace encode
