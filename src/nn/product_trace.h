// Which matrix products a forward pass makes, so that they can be run and timed by themselves.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "nn/linear.h"

namespace encode {

// One product of a Linear.
struct TracedProduct {
  enum class Call {
    kWhole,        // operator() on a GPU; add() there too, which leaves the sum to others
    kInBlocks,     // in_blocks(), and operator() on CPU
    kAddInBlocks,  // add() on CPU
  };

  Linear linear;  // shares its weight with the model
  Call call = Call::kInBlocks;
  at::ScalarType type = at::kFloat;  // of its input [rows, in_features] before any quantization
  int64_t rows = 0;
  int64_t in_features = 0;

  double flops() const {
    return 2.0 * static_cast<double>(rows) *
           static_cast<double>(in_features * linear.out_features());
  }
};

// Collects the products that the thread which made it asks for while it exists; at most one a
// thread.
class ProductTrace {
 public:
  ProductTrace();
  ProductTrace(const ProductTrace&) = delete;
  ProductTrace& operator=(const ProductTrace&) = delete;
  ~ProductTrace();

  std::vector<TracedProduct> take() { return std::move(products_); }  // in order

  // For Linear: nothing, unless this thread has a trace.
  static void note(const Linear& linear, const LinearInput& x, TracedProduct::Call call);

 private:
  std::vector<TracedProduct> products_;
};

}  // namespace encode
