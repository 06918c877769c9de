#include "nn/layers/linear.h"

#include "nn/layers/product_trace.h"

namespace encode {

void Linear::note(const LinearInput& x, ProductCall call) const {
  if (trace_ != nullptr) trace_->note(*this, x, call);
}

at::Tensor Linear::operator()(const LinearInput& x) const {
  note(x, product_->facts().multiply);
  return product_->multiply(x);
}

LinearInput Linear::operator()(const LinearInput& x, const Linear& next) const {
  if (!next.takes_fp8()) return (*this)(x);
  note(x, product_->facts().multiply);
  return product_->multiply_for_fp8(x);
}

ResidualSum Linear::add(const LinearInput& x, const at::Tensor& residual) const {
  note(x, product_->facts().add);
  return product_->add(x, residual);
}

at::Tensor Linear::in_blocks(const at::Tensor& x) const {
  note(x, ProductCall::kInBlocks);
  return product_->in_blocks(x);
}

}  // namespace encode
