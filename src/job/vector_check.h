// Checks vectors before they are committed. Any thread may call the functions. They throw no Error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encode/batch.h"
#include "encode/error_code.h"
#include "encode/model_directory.h"
#include "encode/types.h"

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
  // A row with a vector for each token is wrong only if all of them are 0. Otherwise each vector of
  // a row must be right.
  bool of_tokens = false;
};
VectorRules vector_rules(const ModelDirectory& directory, const EffectiveResult& effective);

// Returns what is wrong with a vector, or nullopt. Any thread may call it.
std::optional<BadVector> check_vector(std::span<const float> vector, const VectorRules& rules);

// The result for the vectors of several rows. Both lists are in the order of the rows.
struct CheckedRows {
  std::vector<PackedRow> good;
  std::vector<FailedRow> bad;
};

// Checks the vectors of a window batch by batch. A batch that has just been copied from the device
// is still in the processor's cache, and the device computes the next batch meanwhile: a pass over
// the whole window would leave the device without work. Not thread-safe.
class WindowCheck {
 public:
  // Rounds vectors to float16 before the check if `precision` says so. `values` must outlive the
  // WindowCheck.
  WindowCheck(WindowValues& values, const VectorRules& rules, VectorPrecision precision)
      : values_(values), rules_(rules), precision_(precision) {}

  // Rounds and checks the vectors of a batch, except those that are not finite.
  void add(const PackedBatch& batch);
  // Returns the rows that add() found not to be finite. Their vectors may still be replaced.
  std::span<const PackedRow> not_finite() const { return not_finite_; }
  // Rounds and checks the vectors of not_finite(), and returns the result for `rows`, all of which
  // add() must have got. Must be called once.
  CheckedRows result(std::vector<PackedRow> rows);

 private:
  void round_and_check(const PackedRow& row);
  std::optional<BadVector> check_each(const PackedRow& row) const;

  WindowValues& values_;
  const VectorRules& rules_;
  const VectorPrecision precision_;
  std::vector<PackedRow> not_finite_;
  std::map<int64_t, BadVector> bad_;  // by PackedRow::row
};

}  // namespace encode
