#include "nn/product_trace.h"

namespace encode {
namespace {

thread_local std::vector<TracedProduct>* traced = nullptr;

}  // namespace

ProductTrace::ProductTrace() { traced = &products_; }
ProductTrace::~ProductTrace() { traced = nullptr; }

void ProductTrace::note(const Linear& linear, const LinearInput& x, TracedProduct::Call call) {
  if (traced == nullptr) return;
  const at::Tensor& rows = x.rows.defined() ? x.rows : x.fp8->values;
  traced->push_back({.linear = linear,
                     .call = call,
                     .type = x.rows.defined() ? rows.scalar_type() : at::kBFloat16,
                     .rows = rows.size(0),
                     .in_features = rows.size(1)});
}

}  // namespace encode
