#include "nn/layers/product_trace.h"

#include <utility>

namespace encode {

std::vector<TracedProduct> ProductTrace::stop() {
  recording_ = false;
  return std::exchange(products_, {});
}

void ProductTrace::note(const Linear& linear, const LinearInput& x, ProductCall call) {
  if (!recording_) return;
  const at::Tensor& rows = x.rows.defined() ? x.rows : x.fp8->values;
  products_.push_back({.linear = linear,
                       .call = call,
                       .type = x.rows.defined() ? rows.scalar_type() : at::kBFloat16,
                       .rows = rows.size(0),
                       .in_features = rows.size(1)});
}

}  // namespace encode
