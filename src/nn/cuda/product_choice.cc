#include "nn/cuda/product_choice.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace encode {
namespace {

const char* name_of(ProductFormat format) {
  switch (format) {
    case ProductFormat::kFloat32:
      return "float32";
    case ProductFormat::kFloat32High:
      return "float32_high";
    case ProductFormat::kBFloat16:
      return "bfloat16";
    case ProductFormat::kFloat16:
      return "float16";
    case ProductFormat::kInt8:
      return "int8";
    case ProductFormat::kFp8:
      break;
  }
  return "fp8";
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "";
    case Activation::kGelu:
      return ", gelu";
    case Activation::kGeluTanh:
      return ", gelu_tanh";
    case Activation::kRelu:
      return ", relu";
    case Activation::kSilu:
      break;
  }
  return ", silu";
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void count(ProductFinding& finding, ProductCandidates::Verdict verdict) {
  if (verdict == ProductCandidates::Verdict::kFailed) ++finding.failed;
  if (verdict == ProductCandidates::Verdict::kWrong) ++finding.wrong;
  if (verdict == ProductCandidates::Verdict::kUnequalRows) ++finding.unequal_rows;
}

}  // namespace

std::string to_string(const ProductShape& shape) {
  return fmt::format("{} x {} x {} {}{}{}{}", shape.rows, shape.in_features, shape.out_features,
                     name_of(shape.format), shape.bias ? ", bias" : "",
                     shape.residual ? ", residual" : "", name_of(shape.activation));
}

std::string to_hex(const ProductAlgorithm& algorithm) {
  std::string text;
  for (const uint64_t word : algorithm) text += fmt::format("{:016x}", word);
  return text;
}

std::optional<ProductAlgorithm> algorithm_from_hex(const std::string& text) {
  constexpr size_t kDigits = 16;
  ProductAlgorithm algorithm = {};
  if (text.size() != kDigits * algorithm.size() ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  for (size_t i = 0; i < algorithm.size(); ++i)
    algorithm[i] = std::stoull(text.substr(i * kDigits, kDigits), nullptr, /*base=*/16);
  return algorithm;
}

ProductFinding choose_algorithm(ProductCandidates& candidates) {
  ProductFinding finding;
  std::vector<ProductAlgorithm> good;
  for (const ProductAlgorithm& algorithm : candidates.suggest()) {
    ++finding.suggestions;
    const ProductCandidates::Verdict verdict = candidates.judge(algorithm);
    count(finding, verdict);
    if (verdict == ProductCandidates::Verdict::kGood) good.push_back(algorithm);
  }
  std::vector<std::vector<double>> times(good.size());
  for (int turn = 0; turn < kProductTimings; ++turn) {
    for (size_t i = 0; i < good.size(); ++i) times[i].push_back(candidates.time(good[i]));
  }
  for (size_t i = 0; i < good.size(); ++i) {
    const double milliseconds = median(times[i]);
    if (!std::isfinite(milliseconds)) continue;
    if (!finding.algorithm) finding.first_milliseconds = milliseconds;
    if (finding.algorithm && milliseconds >= kFasterShare * finding.milliseconds) continue;
    finding.algorithm = good[i];
    finding.milliseconds = milliseconds;
  }
  return finding;
}

}  // namespace encode
