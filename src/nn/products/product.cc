#include "nn/products/product.h"

#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include "nn/products/product_kinds.h"

namespace encode {

int64_t ProductParts::out_features() const {
  int64_t all = 0;
  for (const at::Tensor& part : weights) all += part.size(0);
  return all;
}

at::Tensor ProductParts::weight() const {
  return weights.size() == 1 ? weights.front() : at::cat(weights);
}

std::shared_ptr<const Product> make_product(const ProductParts& parts,
                                            const ProductOptions& options) {
  const at::Tensor& first = parts.weights.front();
  ProductOptions chosen = options;
  if (options.format == ProductFormat::kFp8) {
    if (auto product = make_fp8_product(parts, options.launches)) return product;
    chosen.format = format_of(first.scalar_type());
  }
  TORCH_CHECK(first.scalar_type() == compute_type(chosen.format), "weights of type ",
              first.scalar_type(), " do not have the compute type of their product format");
  if (!first.device().is_cpu()) return make_cublas_product(parts, chosen);
  if (auto product = make_cpu_kernel_product(parts, chosen.format)) return product;
  if (auto product = make_onednn_product(parts)) return product;
  return make_libtorch_product(parts);
}

}  // namespace encode
