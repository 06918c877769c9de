// The matrix product of a linear layer, with a weight that does not change. make_product() chooses
// an implementation when the weight is loaded. product_kinds.h lists the implementations; each has
// a file of its own. Layers use Linear (nn/layers/linear.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/fp8/fp8_rows.h"
#include "nn/layers/activation.h"
#include "nn/layers/product_format.h"
#include "nn/layers/residual.h"

namespace encode {

// The arguments of a product. Weights and bias are on the same device.
struct ProductParts {
  std::vector<at::Tensor> weights;  // each [.., in_features]; W has their rows one after the other
  at::Tensor bias;                  // [out_features] or undefined
  Activation activation = Activation::kNone;

  int64_t in_features() const { return weights.front().size(1); }
  int64_t out_features() const;
  at::Tensor weight() const;  // returns W, [out_features, in_features]
};

// How a product is computed, for ProductTrace.
enum class ProductCall {
  kWhole,        // on a GPU, all rows; the next norm adds the residual, if there is one
  kAddInPlace,   // on a GPU, all rows; the product adds the residual
  kInBlocks,     // on a CPU, or for a number of rows that varies
  kAddInBlocks,  // on a CPU, where the product adds the residual
};

// The numbers that a product multiplies.
enum class Operands {
  kPlain,  // of the type of the input
  kInt8,   // the input and W, quantized to 8-bit integers
  kFp8,    // the input and W, quantized to 8-bit floats
};

// Computes y = activation(x W^T + b), [T, out_features], for x [T, in_features] on the device of
// the weights. The bits of a row of y depend only on this row of x if T is a number of rows for
// which the product is made: any number on a CPU, whole launches (ProductOptions) on a GPU.
// Immutable; any number of threads may use it, with the exception that Linear states.
class Product {
 public:
  struct Facts {
    int64_t out_features;
    Operands operands;
    ProductCall multiply;  // how multiply() and multiply_for_fp8() compute
    ProductCall add;       // how add() computes
  };

  virtual ~Product() = default;
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  const Facts& facts() const { return facts_; }

  // Returns y.
  virtual at::Tensor multiply(const LinearInput& x) const = 0;
  // Returns y, which may be quantized to 8-bit floats, because only products with Operands::kFp8
  // read it.
  virtual LinearInput multiply_for_fp8(const LinearInput& x) const { return multiply(x); }
  // Returns residual + y for `residual` [T, out_features]. There must be no activation. On a GPU it
  // may overwrite `residual`.
  virtual ResidualSum add(const LinearInput& x, const at::Tensor& residual) const = 0;
  // Returns y for any number of rows, on every device.
  virtual at::Tensor in_blocks(const at::Tensor& x) const = 0;

 protected:
  explicit Product(const Facts& facts) : facts_(facts) {}

 private:
  Facts facts_;
};

// Chooses the implementation by the device of the weights, by the format, and by what the processor
// and the libraries can compute. Weights and bias must have the compute type of the format, and the
// results have it. For kFp8 on CPU another type is also allowed, which is then the type of the
// results. Throws c10::Error if the weights have a wrong type.
std::shared_ptr<const Product> make_product(const ProductParts& parts,
                                            const ProductOptions& options);

}  // namespace encode
