#include "nn/product_trace.h"

namespace encode {
namespace {

thread_local std::vector<TracedProduct>* traced = nullptr;

}  // namespace

ProductTrace::ProductTrace() { traced = &products_; }
ProductTrace::~ProductTrace() { traced = nullptr; }

void ProductTrace::note(const Linear& linear, const at::Tensor& x, TracedProduct::Call call) {
  if (traced == nullptr) return;
  traced->push_back({.linear = linear,
                     .call = call,
                     .type = x.scalar_type(),
                     .rows = x.size(0),
                     .in_features = x.size(1)});
}

}  // namespace encode
