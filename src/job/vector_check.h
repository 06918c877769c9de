// Looks at a vector before it is committed.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "encode/model_directory.h"

namespace encode {

struct BadVector {
  const char* code;     // "vector.not_finite", "vector.zero", "vector.norm"
  std::string message;  // one phrase
};

// Returns what is wrong with a vector, or nullopt. `unit_norm`: its norm must be 1. Any thread may
// call it.
std::optional<BadVector> check_vector(std::span<const float> vector, bool unit_norm);

// Whether the last step scales every vector to norm 1.
bool has_unit_norm(const EffectiveResult& effective);

}  // namespace encode
