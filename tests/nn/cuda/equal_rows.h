// Finds matrix products in which the bits of a row depend on its place.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/layers/product_format.h"

namespace encode::testing {

// The size of the products.
struct EqualRows {
  int64_t rows = 16384;   // equal rows in each product; the largest launch of a run
  int64_t narrowing = 1;  // divides every width

  // The sizes for the stand-in (tests/cuda/stand_in), which takes minutes for the sizes of a GPU.
  static EqualRows small() { return {.rows = 32, .narrowing = 8}; }
};

// Multiplies equal rows by weights with the shapes of MiniLM, BERT-base, BERT-large and Qwen2-1.5B,
// on `device`: in launches as in a run (smaller in proportion to size.rows), in blocks of
// kProductBlockRows rows, and with the addition of a residual. Returns the products in which a row
// of the result is not equal to the first row, for example "BERT-base up in blocks".
std::vector<std::string> products_with_unequal_rows(ProductFormat format, const EqualRows& size,
                                                    at::Device device);

}  // namespace encode::testing
