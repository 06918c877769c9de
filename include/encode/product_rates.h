// The speed of a model's matrix products without the rest of the model.
#pragma once

#include <cstdint>

namespace encode {

// Counts only the products with weights, with the shapes that a forward pass has. The products of
// attention's scores and values, and everything between the products, are left out. So these rates
// are an upper limit for the speed of a run. A model without such products (static embeddings) has
// zeros.
struct ProductRates {
  int64_t threads = 0;           // the threads that computed; 1 on a GPU
  double flops_per_token = 0;    // 2 x in_features x out_features, summed over a token's products
  double tokens_per_second = 0;  // of all threads together
  double tokens_per_cpu_second = 0;    // per second of CPU time of the threads; 0 on a GPU
  double square_flops_per_second = 0;  // of one large product in the same type; 0: out of memory

  bool operator==(const ProductRates&) const = default;
};

}  // namespace encode
