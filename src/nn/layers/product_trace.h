// A record of the matrix products of a forward pass, so that each product can be timed alone.
// Throws no Error.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/layers/linear.h"

namespace encode {

// One matrix product of a Linear.
struct TracedProduct {
  using Call = ProductCall;

  Linear linear;  // shares its weight with the model
  Call call = Call::kInBlocks;
  at::ScalarType type = at::kFloat;  // of the input [rows, in_features] before any quantization
  int64_t rows = 0;
  int64_t in_features = 0;

  double flops() const {
    return 2.0 * static_cast<double>(rows) *
           static_cast<double>(in_features * linear.out_features());
  }
};

// Records matrix products from start() to stop(). Each Linear that is constructed with this trace
// (ProductOptions::trace) reports its products. The trace is not a parameter of the forward pass,
// because every function from the model down to Linear would then have to pass it on.
//
// From start() to stop(), only one thread may run the model. At other times any number of threads
// may run it, and note() does nothing.
class ProductTrace {
 public:
  ProductTrace() = default;
  ProductTrace(const ProductTrace&) = delete;  // Linears hold pointers to it
  ProductTrace& operator=(const ProductTrace&) = delete;

  void start() { recording_ = true; }
  // Returns the matrix products since start(), in the order of computation.
  std::vector<TracedProduct> stop();
  void note(const Linear& linear, const LinearInput& x, ProductCall call);

 private:
  bool recording_ = false;
  std::vector<TracedProduct> products_;
};

}  // namespace encode
