#include "job/vector_check.h"

#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <utility>

#include "base/half.h"
#include "base/unit_norm.h"

namespace encode {
namespace {

// The sum is finite exactly if all values are, because the square of the largest float is far below
// the largest double.
double sum_of_squares(std::span<const float> vector) {
  return std::transform_reduce(vector.begin(), vector.end(), 0.0, std::plus<>(), [](float value) {
    return static_cast<double>(value) * static_cast<double>(value);
  });
}

// Returns what is wrong with a vector that has this sum.
std::optional<BadVector> check_sum(double squares, const VectorRules& rules) {
  if (!std::isfinite(squares))
    return BadVector{.code = "vector.not_finite", .message = "a value is NaN or infinite"};
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

}  // namespace

VectorRules vector_rules(const ModelDirectory& directory, const EffectiveResult& effective) {
  return {.unit_norm = !effective.token_embeddings() && !effective.modules.empty() &&
                       effective.modules.back().kind == SentenceModule::Kind::kNormalize,
          .may_be_zero = directory.model_type == kStaticEmbedding,
          .of_tokens = effective.token_embeddings()};
}

std::optional<BadVector> check_vector(std::span<const float> vector, const VectorRules& rules) {
  return check_sum(sum_of_squares(vector), rules);
}

void WindowCheck::add(const PackedBatch& batch) {
  for (const PackedSequence& sequence : packed_sequences({&batch, 1})) {
    const double squares = sum_of_squares(values_.of(sequence));
    if (!std::isfinite(squares)) {
      not_finite_.push_back(sequence);
    } else if (precision_ == VectorPrecision::kFloat16) {
      round_and_check(sequence);
    } else if (std::optional<BadVector> wrong = sequence.vectors == 1 || rules_.of_tokens
                                                    ? check_sum(squares, rules_)
                                                    : check_each(sequence)) {
      bad_.emplace(sequence.number, *std::move(wrong));
    }
  }
}

CheckedSequences WindowCheck::result(std::vector<PackedSequence> sequences) {
  for (const PackedSequence& sequence : not_finite_) round_and_check(sequence);
  CheckedSequences checked;
  if (bad_.empty()) {
    checked.good = std::move(sequences);
    return checked;
  }
  for (const PackedSequence& sequence : sequences) {
    const auto wrong = bad_.find(sequence.number);
    if (wrong == bad_.end()) {
      checked.good.push_back(sequence);
    } else {
      checked.bad.push_back({.place = sequence,
                             .code = wrong->second.code,
                             .message = std::move(wrong->second.message)});
    }
  }
  return checked;
}

void WindowCheck::round_and_check(const PackedSequence& sequence) {
  const std::span<float> vector = values_.of(sequence);
  if (precision_ == VectorPrecision::kFloat16) round_to_half(vector);
  if (std::optional<BadVector> wrong = check_each(sequence))
    bad_.emplace(sequence.number, *std::move(wrong));
}

// Returns what is wrong with the first wrong vector of a sequence, or nullopt.
std::optional<BadVector> WindowCheck::check_each(const PackedSequence& sequence) const {
  const std::span<const float> vectors = std::as_const(values_).of(sequence);
  if (rules_.of_tokens) return check_vector(vectors, rules_);
  const auto dim = static_cast<size_t>(values_.dim);
  for (size_t begin = 0; begin < vectors.size(); begin += dim) {
    if (auto wrong = check_vector(vectors.subspan(begin, dim), rules_)) return wrong;
  }
  return std::nullopt;
}

}  // namespace encode
