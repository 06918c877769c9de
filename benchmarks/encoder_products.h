// The matrix products of an encoder's layers without what lies between them: what a run could reach
// at best.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/linear.h"

namespace encode::benchmarks {

struct EncoderShape {
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_hidden_layers = 0;
  Activation activation = Activation::kGelu;

  // Of a model directory whose layers are BERT's: fused query, key and value, output with residual,
  // up with activation, down with residual. Throws Error kUsage for another architecture.
  static EncoderShape of(const std::string& model_directory);

  // Of all products for one token, a multiplication and an addition each.
  double flops_per_token() const;
};

// Weights are random: only their shape matters to the time. Each layer has its own, since whether
// they stay in the cache does matter. Any number of threads.
class EncoderProducts {
 public:
  EncoderProducts(const EncoderShape& shape, at::ScalarType type);

  // x [T, hidden_size] through every product of every layer, each with its bias, activation and
  // residual as in a run. What the norms and attention would make of x is left out: only the
  // values differ.
  at::Tensor run(const at::Tensor& x) const;

 private:
  struct Layer {
    Linear qkv;
    Linear out;
    Linear up;
    Linear down;
  };
  std::vector<Layer> layers_;
};

// [rows, columns], normally distributed.
at::Tensor random_matrix(int64_t rows, int64_t columns, at::ScalarType type);

}  // namespace encode::benchmarks
