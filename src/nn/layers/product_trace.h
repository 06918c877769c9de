// Which matrix products a forward pass makes, so that they can be run and timed by themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/layers/linear.h"

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

// Notes the products of the Linears that were made with it (ProductOptions::trace) from start() to
// stop(). A model's Linears are given its trace when they are loaded, because a trace that came
// with each forward pass would be a parameter of every function between the model and its products.
//
// One thread at a time runs the model from start() to stop(); at other times any number of threads
// may, and note() does nothing.
class ProductTrace {
 public:
  ProductTrace() = default;
  ProductTrace(const ProductTrace&) = delete;  // Linears point to it
  ProductTrace& operator=(const ProductTrace&) = delete;

  void start() { recording_ = true; }
  std::vector<TracedProduct> stop();  // the products since start(), in order

  void note(const Linear& linear, const LinearInput& x, TracedProduct::Call call);  // for Linear

 private:
  bool recording_ = false;
  std::vector<TracedProduct> products_;
};

}  // namespace encode
