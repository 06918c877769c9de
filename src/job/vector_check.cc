#include "job/vector_check.h"

#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <utility>

#include "base/non_finite.h"
#include "base/unit_norm.h"

namespace encode {

VectorRules vector_rules(const ModelDirectory& directory, const EffectiveResult& effective) {
  return {.unit_norm = !effective.token_embeddings() && !effective.modules.empty() &&
                       effective.modules.back().kind == SentenceModule::Kind::kNormalize,
          .may_be_zero = directory.model_type == kStaticEmbedding};
}

std::optional<BadVector> check_vector(std::span<const float> vector, const VectorRules& rules) {
  if (find_non_finite(vector))
    return BadVector{.code = "vector.not_finite", .message = "a value is NaN or infinite"};
  const double squares = std::transform_reduce(
      vector.begin(), vector.end(), 0.0, std::plus<>(),
      [](float value) { return static_cast<double>(value) * static_cast<double>(value); });
  if (squares == 0) {
    if (rules.may_be_zero) return std::nullopt;
    return BadVector{.code = "vector.zero", .message = "all values are 0"};
  }
  const double norm = std::sqrt(squares);
  if (rules.unit_norm && std::abs(norm - 1) > kUnitNormTolerance) {
    return BadVector{.code = "vector.norm",
                     .message = fmt::format("the norm is {:.6f}, but the model normalizes", norm)};
  }
  return std::nullopt;
}

CheckedRows check_vectors(std::span<const PackedRow> rows, const WindowValues& values,
                          const VectorRules& rules) {
  CheckedRows checked;
  for (const PackedRow& row : rows) {
    std::optional<BadVector> wrong = check_vector(values.of(row), rules);
    if (wrong) {
      checked.bad.push_back(
          {.place = row, .code = wrong->code, .message = std::move(wrong->message)});
    } else {
      checked.good.push_back(row);
    }
  }
  return checked;
}

}  // namespace encode
