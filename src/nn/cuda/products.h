// Computes matrix products with chosen algorithms of cuBLASLt, in place of LibTorch, which takes
// cuBLASLt's first suggestion.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/cuda/product_choice.h"

struct EncodeCudaProducts;

namespace encode {

// cuBLASLt's algorithms get as much memory as LibTorch gives them (product_environment()).
inline constexpr int64_t kProductWorkspaceBytes = int64_t{32} << 20;

// The arguments of y = activation(x weight^T + bias + residual).
struct ProductCall {
  at::Tensor x;              // [rows, in_features]
  at::Tensor weight;         // [out_features, in_features]
  at::Tensor bias = {};      // [out_features]; undefined: no bias
  at::Tensor residual = {};  // [rows, out_features]; may be y; undefined: no residual
  at::Tensor y;              // [rows, out_features]
  Activation activation = Activation::kNone;
  ProductFormat format = ProductFormat::kFloat32;
};

// The products of one model on one CUDA device. multiply() may be called by one thread at a time,
// on one stream, because all products share a workspace. use() must not be called meanwhile.
class CudaProducts {
 public:
  // `table` must outlive the object. Allocates the workspace on the device.
  CudaProducts(const EncodeCudaProducts& table, at::Device device);

  // Between collect() and collected(), multiply() notes the shape of each call and computes
  // nothing. collected() returns the shapes, each once, in the order of their first call.
  void collect() { collecting_ = true; }
  std::vector<ProductShape> collected();

  // From now on multiply() computes products of this shape with the algorithm.
  void use(const ProductShape& shape, const ProductAlgorithm& algorithm);

  // Returns false and does nothing if there is no algorithm for the shape, or if an operand is not
  // dense or not aligned to 16 bytes. The answer depends only on the shape and on the layout of the
  // operands. Throws CudaLaunchError if cuBLASLt refuses the product.
  bool multiply(const ProductCall& call);

 private:
  struct Chosen {
    ProductShape shape;
    ProductAlgorithm algorithm;
  };

  const EncodeCudaProducts& table_;
  at::Tensor workspace_;  // [kProductWorkspaceBytes] bytes
  bool collecting_ = false;
  std::vector<ProductShape> collected_;
  std::vector<Chosen> chosen_;
};

// Returns the shape of a product, or nullopt if cuBLASLt is not called for its operands: see
// CudaProducts::multiply().
std::optional<ProductShape> shape_of(const ProductCall& call);

}  // namespace encode
