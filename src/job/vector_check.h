// Looks at a vector before it is committed.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "encode/error_code.h"
#include "encode/model_directory.h"

namespace encode {

struct BadVector {
  ErrorCode code;     // "vector.not_finite", "vector.zero", "vector.norm"
  std::string message;  // one phrase
};

// What the vectors of a model must be, beside finite.
struct VectorRules {
  bool unit_norm = false;    // the last step scales every vector to norm 1
  bool may_be_zero = false;  // StaticEmbedding: the sum of a few rows of a table may be 0
};
VectorRules vector_rules(const ModelDirectory& directory, const EffectiveResult& effective);

// Returns what is wrong with a vector, or nullopt. Any thread may call it.
std::optional<BadVector> check_vector(std::span<const float> vector, const VectorRules& rules);

}  // namespace encode
