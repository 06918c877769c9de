#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "encode/error.h"

#include "models/architectures.h"
#include "nn/linear.h"

namespace encode {
namespace {

using Loader = std::unique_ptr<Model> (*)(const ModelSource&);

// config.json's model_type -> the architecture.
constexpr std::array<std::pair<std::string_view, Loader>, 2> kArchitectures = {{
    {"bert", load_bert},
    {"qwen2", load_qwen2},
}};

constexpr std::array<std::pair<std::string_view, Activation>, 8> kActivations = {{
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
}};

template <typename Table>
std::string names(const Table& table) {
  std::string text;
  for (const auto& [name, value] : table) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

std::vector<std::string> supported_model_types() {
  std::vector<std::string> types;
  types.reserve(kArchitectures.size());
  for (const auto& [name, loader] : kArchitectures) types.emplace_back(name);
  return types;
}

std::unique_ptr<Model> load_model(const std::string& model_type, const ModelSource& source) {
  const auto* const found =
      std::find_if(kArchitectures.begin(), kArchitectures.end(),
                   [&](const auto& entry) { return entry.first == model_type; });
  if (found != kArchitectures.end()) return found->second(source);
  throw Error({.exit_code = ExitCode::kConfig,
               .code = "model.type",
               .what = "this architecture is not supported",
               .where = "config.json: model_type",
               .expected = "one of: " + names(kArchitectures),
               .found = "'" + model_type + "'",
               .hint = ""});
}

Activation parse_activation(const JsonFields& config, const std::string& key) {
  const std::string name = config.string(key);
  const auto* const found = std::find_if(kActivations.begin(), kActivations.end(),
                                         [&](const auto& entry) { return entry.first == name; });
  if (found == kActivations.end())
    config.refuse(key, "one of: " + names(kActivations), "'" + name + "'");
  return found->second;
}

}  // namespace encode
