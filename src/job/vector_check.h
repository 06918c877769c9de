// Checks vectors before they are committed. Any thread may call these functions. They throw no
// Error.
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

// The hint of an error about bad vectors of valid rows.
inline constexpr const char* kBadVectorsHint =
    "check the model's files; float16 holds numbers up to 65504, so try dtype bfloat16 or float32 "
    "if the model is not float32";

// What the vectors of a model must be, apart from finite.
struct VectorRules {
  bool unit_norm = false;    // every vector must have norm 1, because the last step normalizes
  bool may_be_zero = false;  // StaticEmbedding: the sum of a few rows of a table may be 0
};
VectorRules vector_rules(const ModelDirectory& directory, const EffectiveResult& effective);

// Returns what is wrong with a vector, or nullopt. Any thread may call it.
std::optional<BadVector> check_vector(std::span<const float> vector, const VectorRules& rules);

// The result for the vectors of several rows. Both lists are in the order of the rows.
struct CheckedRows {
  std::vector<PackedRow> good;
  std::vector<FailedRow> bad;
};
CheckedRows check_vectors(std::span<const PackedRow> rows, const WindowValues& values,
                          const VectorRules& rules);

}  // namespace encode
