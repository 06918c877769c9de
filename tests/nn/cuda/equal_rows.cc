#include "equal_rows.h"

#include <cmath>
#include <fmt/format.h>

#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>

#include "encode/batch_plan.h"

#include "nn/layers/linear.h"

namespace encode::testing {
namespace {

struct ModelProduct {
  const char* name;
  int64_t hidden;  // hidden_size of the model, which decides the size of a launch
  int64_t in;
  int64_t out;
  bool bias = true;
  Activation activation = Activation::kNone;
};

// The queries, keys and values of Qwen2-1.5B have 12 + 2 + 2 heads of 128 numbers.
constexpr ModelProduct kProducts[] = {
    {"MiniLM qkv", 384, 384, 1152},
    {"MiniLM out", 384, 384, 384},
    {"MiniLM up", 384, 384, 1536, true, Activation::kGelu},
    {"MiniLM down", 384, 1536, 384},
    {"BERT-base qkv", 768, 768, 2304},
    {"BERT-base out", 768, 768, 768},
    {"BERT-base up", 768, 768, 3072, true, Activation::kGelu},
    {"BERT-base up, tanh", 768, 768, 3072, true, Activation::kGeluTanh},
    {"BERT-base down", 768, 3072, 768},
    {"BERT-large qkv", 1024, 1024, 3072},
    {"BERT-large out", 1024, 1024, 1024},
    {"BERT-large up", 1024, 1024, 4096, true, Activation::kGelu},
    {"BERT-large down", 1024, 4096, 1024},
    {"Qwen2-1.5B qkv", 1536, 1536, 2048},
    {"Qwen2-1.5B out", 1536, 1536, 1536, false},
    {"Qwen2-1.5B gate and up", 1536, 1536, 17920, false},
    {"Qwen2-1.5B down", 1536, 8960, 1536, false}};

bool has_equal_rows(const at::Tensor& y) { return at::equal(y, y.narrow(0, 0, 1).expand_as(y)); }

}  // namespace

std::vector<std::string> products_with_unequal_rows(ProductFormat format, const EqualRows& size,
                                                    at::Device device) {
  std::vector<std::string> found;
  for (const ModelProduct& product : kProducts) {
    const int64_t in = product.in / size.narrowing;
    const int64_t out = product.out / size.narrowing;
    const auto check = [&](const char* how, const at::Tensor& y) {
      if (!has_equal_rows(y)) found.push_back(fmt::format("{} {}", product.name, how));
    };
    const auto random = [&](at::IntArrayRef shape, double scale) {
      return at::randn(shape).mul_(scale).to(device, compute_type(format));
    };
    const at::Tensor weight = random({out, in}, 1 / std::sqrt(static_cast<double>(in)));
    const Linear linear(
        {weight}, product.bias ? random({out}, 1) : at::Tensor(), product.activation,
        {.format = format,
         .launches = {.rows = launch_tokens(product.hidden) * size.rows / EqualRows{}.rows}});
    const at::Tensor x = random({1, in}, 1).repeat({size.rows, 1});
    check("in launches", linear(x));
    check("in blocks", linear.in_blocks(x));
    if (product.activation != Activation::kNone) continue;
    check("with a residual", linear.add(x, random({1, out}, 1).repeat({size.rows, 1})).total());
  }
  return found;
}

}  // namespace encode::testing
