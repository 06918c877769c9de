// Looks at vectors before they are committed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encode/error_code.h"
#include "encode/model_directory.h"

#include "job/packed_rows.h"

namespace encode {

struct BadVector {
  ErrorCode code;       // "vector.not_finite", "vector.zero", "vector.norm"
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

// The same for the vectors of rows. Both lists are in the order of the rows.
struct CheckedRows {
  std::vector<PackedRow> good;
  std::vector<FailedRow> bad;
};
CheckedRows check_vectors(std::span<const PackedRow> rows, const WindowValues& values,
                          const VectorRules& rules);

}  // namespace encode
