// The algorithms of cuBLASLt for the matrix products of a model that is being loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "encode/device.h"

#include "nn/cuda/product_choice.h"

namespace encode {

// The matrix products of a model on a GPU, and what can be done to find an algorithm for each.
struct ProductRequest {
  DeviceFacts device;
  int64_t cublaslt = 0;  // the version of cuBLASLt: 130100
  std::vector<ProductShape> shapes;
  // Searches on the device, for seconds at most. Throws c10::Error if the device fails.
  std::function<ProductFinding(const ProductShape&)> search;
  // Returns true if this version of cuBLASLt, on this device, takes the algorithm for the product.
  std::function<bool(const ProductShape&, const ProductAlgorithm&)> can_compute;
};

// Returns a finding for each shape, in the order of the shapes.
using ChooseProducts = std::function<std::vector<ProductFinding>(const ProductRequest&)>;

// Returns a hash of the algorithms that the products get: 32 hexadecimal digits. Two models with
// the same products and the same hash give a row the same bits. Returns "" if LibTorch computes
// every product.
std::string products_hash(const std::vector<ProductShape>& shapes,
                          const std::vector<ProductFinding>& findings);

struct Transformer;

// Collects the products of one forward pass of `transformer`, which is on a CUDA device and has
// Transformer::products, asks `choose` for their algorithms and uses these. Sets
// Transformer::products_hash. Returns a line for the log. Throws what `choose` throws.
std::string choose_products(Transformer& transformer, const ChooseProducts& choose);

}  // namespace encode
