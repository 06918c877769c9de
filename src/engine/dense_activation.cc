#include "engine/dense_activation.h"

#include <ATen/ops/celu.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardshrink.h>
#include <ATen/ops/hardsigmoid.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/relu6.h>
#include <ATen/ops/selu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/softshrink.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tanh.h>

namespace encode {
namespace {

// Outside of training, torch.nn.RReLU() has the mean of its two slopes, 1/8 and 1/3.
constexpr double kRreluSlope = (1.0 / 8 + 1.0 / 3) / 2;

at::Tensor apply_to_all(const at::Tensor& x, DenseActivation activation) {
  switch (activation) {
    case DenseActivation::kIdentity:
      break;
    case DenseActivation::kCelu:
      return at::celu(x);
    case DenseActivation::kElu:
      return at::elu(x);
    case DenseActivation::kGelu:
      return at::gelu(x);
    case DenseActivation::kHardshrink:
      return at::hardshrink(x);
    case DenseActivation::kHardsigmoid:
      return at::hardsigmoid(x);
    case DenseActivation::kHardswish:
      return at::hardswish(x);
    case DenseActivation::kHardtanh:
      return at::hardtanh(x);
    case DenseActivation::kLeakyRelu:
      return at::leaky_relu(x);
    case DenseActivation::kLogSigmoid:
      return at::log_sigmoid(x);
    case DenseActivation::kLogSoftmax:
      return at::log_softmax(x, 1);
    case DenseActivation::kMish:
      return at::mish(x);
    case DenseActivation::kRelu:
      return at::relu(x);
    case DenseActivation::kRelu6:
      return at::relu6(x);
    case DenseActivation::kRrelu:
      return at::leaky_relu(x, kRreluSlope);
    case DenseActivation::kSelu:
      return at::selu(x);
    case DenseActivation::kSigmoid:
      return at::sigmoid(x);
    case DenseActivation::kSilu:
      return at::silu(x);
    case DenseActivation::kSoftmax:
      return at::softmax(x, 1);
    case DenseActivation::kSoftmin:
      return at::softmax(at::neg(x), 1);
    case DenseActivation::kSoftplus:
      return at::softplus(x);
    case DenseActivation::kSoftshrink:
      return at::softshrink(x);
    case DenseActivation::kSoftsign:
      return x.div(x.abs().add(1));
    case DenseActivation::kTanh:
      return at::tanh(x);
    case DenseActivation::kTanhshrink:
      return x.sub(at::tanh(x));
  }
  return x;
}

}  // namespace

at::Tensor apply(const at::Tensor& x, DenseActivation activation) {
  if (activation == DenseActivation::kIdentity) return x;
  if (!x.is_cpu()) return apply_to_all(x, activation);
  // Goes row by row. A vector loop over the whole batch computes its last elements in another way,
  // and then the bits of a row would depend on its place in the batch.
  at::Tensor result = at::empty_like(x);
  for (int64_t row = 0; row < x.size(0); ++row)
    result.narrow(0, row, 1).copy_(apply_to_all(x.narrow(0, row, 1), activation));
  return result;
}

}  // namespace encode
