#include "encoder_products.h"

#include <cmath>

#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/json.h"

namespace encode::benchmarks {
namespace {

Linear random_linear(int64_t out, int64_t in, at::ScalarType type, Activation activation) {
  const at::Tensor weight = random_matrix(out, in, type).div_(std::sqrt(static_cast<double>(in)));
  return {weight, at::zeros({out}, type), activation};
}

}  // namespace

EncoderShape EncoderShape::of(const std::string& model_directory) {
  const std::string path = model_directory + "/config.json";
  constexpr int64_t kMaxBytes = int64_t{1} << 20;
  const Json config = Json::parse(read_file(path, kMaxBytes, "benchmark.config"));
  const std::string type = config.value("model_type", "");
  if (type != "bert" || config.value("hidden_act", "gelu") != "gelu") {
    throw Error({.exit_code = ExitCode::kUsage,
                 .code = "benchmark.model",
                 .what = "the products of this architecture are not known here",
                 .where = path,
                 .expected = "model_type 'bert' with hidden_act 'gelu'",
                 .found = "model_type '" + type + "'",
                 .hint = "take a model like all-MiniLM-L6-v2"});
  }
  return {.hidden_size = config.at("hidden_size").get<int64_t>(),
          .intermediate_size = config.at("intermediate_size").get<int64_t>(),
          .num_hidden_layers = config.at("num_hidden_layers").get<int64_t>()};
}

double EncoderShape::flops_per_token() const {
  const int64_t weights = 4 * hidden_size * hidden_size + 2 * hidden_size * intermediate_size;
  return 2.0 * static_cast<double>(weights * num_hidden_layers);
}

EncoderProducts::EncoderProducts(const EncoderShape& shape, at::ScalarType type) {
  const int64_t width = shape.hidden_size;
  const int64_t inner = shape.intermediate_size;
  for (int64_t i = 0; i < shape.num_hidden_layers; ++i) {
    layers_.push_back({.qkv = random_linear(3 * width, width, type, Activation::kNone),
                       .out = random_linear(width, width, type, Activation::kNone),
                       .up = random_linear(inner, width, type, shape.activation),
                       .down = random_linear(width, inner, type, Activation::kNone)});
  }
}

at::Tensor EncoderProducts::run(const at::Tensor& input) const {
  at::Tensor x = input;
  for (const Layer& layer : layers_) {
    // The result of attention has the shape of its queries, which x has too.
    const at::Tensor qkv = layer.qkv(x);
    const at::Tensor attended = layer.out.add(x, x).total();
    layer.down.add(layer.up(attended), attended).total();
    // Without norms the sums of all layers would grow; each layer begins with the same numbers.
    x = input;
  }
  return x;
}

at::Tensor random_matrix(int64_t rows, int64_t columns, at::ScalarType type) {
  return at::randn({rows, columns}, at::kFloat).to(type);
}

}  // namespace encode::benchmarks
