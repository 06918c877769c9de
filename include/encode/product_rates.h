// How fast a model's matrix products are by themselves: the limit that a run is measured against.
#pragma once

#include <cstdint>

namespace encode {

// Products with weights, as a forward pass makes them: those of attention's scores and values,
// norms, softmax and activations between them are left out. A model without products (static
// embeddings) has zeros.
struct ProductRates {
  int64_t threads = 0;           // that computed; 1 on a GPU
  double flops_per_token = 0;    // 2 x in_features x out_features for each product a token is in
  double tokens_per_second = 0;  // of all threads together
  double tokens_per_cpu_second = 0;    // of the threads' own time; 0 on a GPU
  double square_flops_per_second = 0;  // of one large product in the same type; 0: no room for it

  bool operator==(const ProductRates&) const = default;
};

}  // namespace encode
