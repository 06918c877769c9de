// A record of the matrix products of a forward pass, so that they can be run and timed alone.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/layers/linear.h"

namespace encode {

// One product of a Linear.
struct TracedProduct {
  enum class Call {
    kWhole,        // operator() and add() on a GPU; add() leaves the addition to the next norm
    kInBlocks,     // in_blocks(), and operator() on CPU
    kAddInBlocks,  // add() on CPU
  };

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

// Records products from start() to stop(). It records the products of the Linears that were
// constructed with it (ProductOptions::trace). A Linear gets the trace at construction, because a
// trace for each forward pass would be a parameter of every function between the model and its
// products.
//
// From start() to stop(), only one thread may run the model. At other times any number of threads
// may run it, and note() does nothing.
class ProductTrace {
 public:
  ProductTrace() = default;
  ProductTrace(const ProductTrace&) = delete;  // Linears hold pointers to it
  ProductTrace& operator=(const ProductTrace&) = delete;

  void start() { recording_ = true; }
  std::vector<TracedProduct> stop();  // returns the products since start(), in order

  // Records a product. Only Linear calls it.
  void note(const Linear& linear, const LinearInput& x, TracedProduct::Call call);

 private:
  bool recording_ = false;
  std::vector<TracedProduct> products_;
};

}  // namespace encode
