#include "nn/layers/linear.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <ATen/ops/_addmm_activation.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <c10/util/Exception.h>

#include "nn/layers/product_trace.h"

namespace encode {
namespace {

// The rows of each product that LibTorch computes on a CPU. oneDNN's kernels compute six rows at a
// time with AVX2 and eight or sixteen with others. If the number of rows is not a multiple of this,
// the last rows have another order of sums, so the bits of a row would depend on its place.
constexpr int64_t kOneDnnRows = 528;

// Calls an operator by its name. The prepacked linear operators of oneDNN have no at:: function.
at::Tensor call_boxed(const char* name, const char* overload, torch::jit::Stack arguments) {
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  op.callBoxed(arguments);
  return arguments.front().toTensor();
}

std::optional<at::Tensor> pack_weight(const at::Tensor& weight) {
  const at::ScalarType type = weight.scalar_type();
  if (type != at::kFloat && type != at::kBFloat16) return std::nullopt;
  try {
    return call_boxed("mkldnn::_reorder_linear_weight", "", {weight, c10::IValue()});
  } catch (const c10::Error&) {
    return std::nullopt;  // oneDNN cannot pack bfloat16 on a processor without AVX-512
  }
}

c10::IValue optional_tensor(const at::Tensor& tensor) {
  return tensor.defined() ? c10::IValue(tensor) : c10::IValue();
}

at::Tensor packed_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                         Activation activation) {
  std::string attribute = "none";
  c10::IValue algorithm;
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      attribute = "relu";
      break;
    case Activation::kSilu:
      attribute = "swish";
      break;
    case Activation::kGelu:
      attribute = "gelu";
      algorithm = std::string("none");
      break;
    case Activation::kGeluTanh:
      attribute = "gelu";
      algorithm = std::string("tanh");
      break;
  }
  return call_boxed("mkldnn::_linear_pointwise", "",
                    {x, weight, optional_tensor(bias), attribute,
                     c10::List<std::optional<at::Scalar>>(), algorithm});
}

at::Tensor packed_linear_add(const at::Tensor& x, const at::Tensor& residual,
                             const at::Tensor& weight, const at::Tensor& bias) {
  return call_boxed("mkldnn::_linear_pointwise", "binary",
                    {x, residual, weight, optional_tensor(bias), std::string("add")});
}

// Sets LibTorch's float32 precision to "high" while an object of this class exists, so that cuBLAS
// may use TF32.
class HighPrecision {
 public:
  HighPrecision() { at::globalContext().setFloat32MatmulPrecision("high"); }
  HighPrecision(const HighPrecision&) = delete;
  HighPrecision& operator=(const HighPrecision&) = delete;
  ~HighPrecision() { at::globalContext().setFloat32MatmulPrecision("highest"); }
};

std::unique_ptr<HighPrecision> high_precision(ProductFormat format) {
  return format == ProductFormat::kFloat32High ? std::make_unique<HighPrecision>() : nullptr;
}

void note(const ProductOptions& options, const Linear& linear, const LinearInput& x,
          TracedProduct::Call call) {
  if (options.trace != nullptr) options.trace->note(linear, x, call);
}

// Returns whether the input is on the CPU. Input without plain rows comes from a GPU kernel.
bool is_on_cpu(const LinearInput& x) { return x.rows.defined() && x.rows.device().is_cpu(); }

}  // namespace

Linear::Linear(const std::vector<at::Tensor>& weights, at::Tensor bias, Activation activation,
               const ProductOptions& options)
    : activation_(activation), options_(options) {
  if (options.format == ProductFormat::kFp8) {
    fp8_ = Fp8Linear::make(weights, bias);
    if (!fp8_) options_.format = format_of(weights.front().scalar_type());
  }
  TORCH_CHECK(fp8_ || weights.front().scalar_type() == compute_type(options_.format),
              "weights of type ", weights.front().scalar_type(),
              " do not have the compute type of their product format");
  if (!fp8_) ours_ = PackedLinear::make(weights, bias, options_.format);
  for (const at::Tensor& weight : weights) out_features_ += weight.size(0);
  if (fp8_ || ours_) return;
  weight_ = weights.size() == 1 ? weights.front() : at::cat(weights);
  bias_ = std::move(bias);
  if (!weight_.device().is_cpu()) return;
  if (auto packed = pack_weight(weight_)) {
    weight_ = *packed;
    packed_ = true;
  } else {
    weight_ = weight_.clone();
  }
}

at::Tensor Linear::product(const LinearInput& input) const {
  if (fp8_) return activate_product((*fp8_)(input, options_.launches), activation_);
  const auto precision = high_precision(options_.format);
  return plain_product(input.rows);
}

at::Tensor Linear::plain_product(const at::Tensor& x) const {
  at::Tensor y = at::empty({x.size(0), out_features_}, x.options());
  for_each_launch(x.size(0), options_.launches, [&](int64_t begin, int64_t rows) {
    at::Tensor out = y.narrow(0, begin, rows);
    launch(x.narrow(0, begin, rows), out);
  });
  return activated_by_product() ? y : activate_product(y, activation_);
}

// Returns whether cuBLAS applies the activation in the same kernel as the matrix product, in
// float32. cuBLAS can do this for ReLU and for the tanh form of GELU, if there is a bias.
bool Linear::activated_by_product() const {
  return bias_.defined() &&
         (activation_ == Activation::kRelu || activation_ == Activation::kGeluTanh);
}

void Linear::launch(const at::Tensor& x, at::Tensor& out) const {
  if (!bias_.defined()) {
    at::mm_out(out, x, weight_.t());
  } else if (activated_by_product()) {
    at::_addmm_activation_out(out, bias_, x, weight_.t(), /*beta=*/1, /*alpha=*/1,
                              /*use_gelu=*/activation_ == Activation::kGeluTanh);
  } else {
    at::addmm_out(out, bias_, x, weight_.t());
  }
}

// Makes the residual the matrix C of cuBLAS's D = A B + C, with D in the same memory.
void Linear::add_in_place(const at::Tensor& x, const at::Tensor& residual) const {
  const auto precision = high_precision(options_.format);
  for_each_launch(x.size(0), options_.launches, [&](int64_t begin, int64_t rows) {
    residual.narrow(0, begin, rows).addmm_(x.narrow(0, begin, rows), weight_.t());
  });
}

at::Tensor Linear::block(const at::Tensor& x, const at::Tensor& residual) const {
  if (packed_) {
    return residual.defined() ? packed_linear_add(x, residual, weight_, bias_)
                              : packed_linear(x, weight_, bias_, activation_);
  }
  if (x.device().is_cpu() && !fp8_) {
    at::Tensor y = activate(at::linear(x, weight_, bias_), activation_);
    return residual.defined() ? y.add_(residual) : y;
  }
  const at::Tensor y = product(x);
  return residual.defined() ? y.add(residual) : y;
}

at::Tensor Linear::blocks(const at::Tensor& x, const at::Tensor& residual) const {
  note(options_, *this, x,
       residual.defined() ? TracedProduct::Call::kAddInBlocks : TracedProduct::Call::kInBlocks);
  if (ours_) return (*ours_)(x, residual, activation_);
  const int64_t tokens = x.size(0);
  const int64_t rows = x.device().is_cpu() && !fp8_ ? kOneDnnRows : kCpuBlockTokens;
  if (tokens == rows) return block(x, residual);
  std::vector<at::Tensor> parts;
  for (int64_t begin = 0; begin < tokens; begin += rows) {
    const int64_t size = std::min(rows, tokens - begin);
    const auto cut = [&](const at::Tensor& whole) {
      const at::Tensor part = whole.narrow(0, begin, size);
      return size == rows ? part : at::constant_pad_nd(part, {0, 0, 0, rows - size});
    };
    const at::Tensor y = block(cut(x), residual.defined() ? cut(residual) : residual);
    parts.push_back(y.narrow(0, 0, size));
  }
  return parts.size() == 1 ? parts.front() : at::cat(parts, 0);
}

int64_t cpu_slots(int64_t tokens, ProductFormat format) {
  return linear_kernel(format) ? tokens : whole_blocks(tokens);
}

int64_t whole_blocks(int64_t tokens) {
  return (tokens + kCpuBlockTokens - 1) / kCpuBlockTokens * kCpuBlockTokens;
}

// On CUDA this function needs no blocks, because the engine fills every batch up to whole launches.
at::Tensor Linear::operator()(const LinearInput& x) const {
  if (is_on_cpu(x)) return blocks(x.rows, {});
  note(options_, *this, x, TracedProduct::Call::kWhole);
  return product(x);
}

LinearInput Linear::operator()(const LinearInput& x, const Linear& next) const {
  if (!fp8_ || !next.takes_fp8() || is_on_cpu(x)) return (*this)(x);
  note(options_, *this, x, TracedProduct::Call::kWhole);
  return activate_for_product((*fp8_)(x, options_.launches), activation_);
}

ResidualSum Linear::add(const LinearInput& x, const at::Tensor& residual) const {
  if (is_on_cpu(x)) return {blocks(x.rows, residual)};
  // LibTorch has no call for a product with both the matrix C and a bias.
  const bool in_place = !fp8_ && !bias_.defined();
  note(options_, *this, x,
       in_place ? TracedProduct::Call::kAddInPlace : TracedProduct::Call::kWhole);
  if (!in_place) return {.sum = residual, .term = product(x)};
  add_in_place(x.rows, residual);
  return {residual};
}

}  // namespace encode
