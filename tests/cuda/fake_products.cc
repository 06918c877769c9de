#include "fake_products.h"

#include <cstdlib>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>

#include "counted_plugin.h"

namespace encode::testing {
namespace {

constexpr int kRefused = 15;  // CUBLAS_STATUS_NOT_SUPPORTED
constexpr uint64_t kMark =
    0x66616b65;  // in words[7], so that an algorithm of zeros is none of these

int64_t number(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoll(value, nullptr, 10) : otherwise;
}

at::ScalarType type_of(EncodeCudaType type) {
  if (type == kEncodeCudaFloat16) return at::kHalf;
  return type == kEncodeCudaBFloat16 ? at::kBFloat16 : at::kFloat;
}

at::Tensor matrix(const void* data, at::IntArrayRef sizes, EncodeCudaType type) {
  return at::from_blob(const_cast<void*>(data), sizes, at::TensorOptions().dtype(type_of(type)));
}

at::Tensor wide(const void* data, at::IntArrayRef sizes, EncodeCudaType type) {
  return matrix(data, sizes, type).to(at::kFloat);
}

// Returns a share of a number that changes its bits in the type, and that a rounding explains.
double rounding_step(EncodeCudaType type) {
  if (type == kEncodeCudaFloat32) return 0x1p-18;
  return type == kEncodeCudaFloat16 ? 0x1p-10 : 0x1p-8;
}

// Returns x w^T with each sum in two parts, which are added last.
at::Tensor split_product(const at::Tensor& x, const at::Tensor& w) {
  const int64_t half = x.size(1) / 2;
  const auto part = [&](int64_t first, int64_t count) {
    return at::mm(x.narrow(1, first, count), w.narrow(1, first, count).t());
  };
  return part(0, half).add_(part(half, x.size(1) - half));
}

at::Tensor product(const EncodeCudaProduct& args, uint64_t algorithm) {
  const at::Tensor x = wide(args.x, {args.rows, args.in_features}, args.type);
  const at::Tensor w = wide(args.w, {args.out_features, args.in_features}, args.type);
  at::Tensor y = algorithm == kFakeBest ? split_product(x, w) : at::mm(x, w.t());
  if (algorithm == kFakeUnequalRows) {
    const int64_t half = args.rows / 2;
    y.narrow(0, half, args.rows - half).mul_(1 + rounding_step(args.type));
  }
  if (algorithm == kFakeWrong) y.select(1, 0).add_(1);
  if (args.bias != nullptr) y.add_(wide(args.bias, {args.out_features}, args.type));
  if (args.residual != nullptr)
    y.add_(wide(args.residual, {args.rows, args.out_features}, args.type));
  if (args.activation == kEncodeCudaProductRelu) return at::relu(y);
  return args.activation == kEncodeCudaProductGeluTanh ? at::gelu(y, "tanh") : y;
}

bool is_refused(const EncodeCudaAlgorithm& algorithm) {
  constexpr int64_t kNone = -1;
  return algorithm.words[7] != kMark || algorithm.words[0] >= kFakeAlgorithms ||
         static_cast<int64_t>(algorithm.words[0]) == number("FAKE_PRODUCTS_REFUSED", kNone);
}

int64_t version() { return number("FAKE_PRODUCTS_VERSION", 130100); }

int suggest(const EncodeCudaProduct* /*args*/, EncodeCudaAlgorithm* out, int most) {
  int count = 0;
  for (uint64_t each = 0; each < kFakeAlgorithms && count < most; ++each)
    out[count++] = {.words = {each, 0, 0, 0, 0, 0, 0, kMark}};
  return count;
}

int check(const EncodeCudaProduct* /*args*/, const EncodeCudaAlgorithm* algorithm) {
  return is_refused(*algorithm) ? kRefused : 0;
}

int multiply(const EncodeCudaProduct* args, const EncodeCudaAlgorithm* algorithm) {
  if (is_refused(*algorithm) || algorithm->words[0] == kFakeFailing) return kRefused;
  const int64_t elements = args->rows * (args->in_features + args->out_features) +
                           (args->residual != nullptr ? args->rows * args->out_features : 0);
  const int64_t bytes = elements * static_cast<int64_t>(at::elementSize(type_of(args->type)));
  if (const int status = count_launch("product", bytes); status != 0) return status;
  matrix(args->y, {args->rows, args->out_features}, args->type)
      .copy_(product(*args, algorithm->words[0]));
  return 0;
}

int time(const EncodeCudaProduct* /*args*/, const EncodeCudaAlgorithm* algorithm,
         float* milliseconds) {
  constexpr float kTimes[] = {3, 1, 2, 0.5F, 0.1F, 1.99F};
  constexpr float kFast = 0.1F;
  constexpr int64_t kNone = -1;
  const uint64_t each = algorithm->words[0];
  const bool fast = static_cast<int64_t>(each) == number("FAKE_PRODUCTS_FAST", kNone);
  *milliseconds = kTimes[each] * (fast ? kFast : 1);
  return 0;
}

}  // namespace

const EncodeCudaProducts* fake_products() {
  static const EncodeCudaProducts products = {
      .version = version, .suggest = suggest, .check = check, .multiply = multiply, .time = time};
  return &products;
}

}  // namespace encode::testing
