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

#include "job/packed_sequences.h"

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
  // A sequence with a vector for each token is wrong only if all of them are 0. Otherwise each
  // vector of a sequence must be right.
  bool of_tokens = false;
};
VectorRules vector_rules(const ModelDirectory& directory, const EffectiveResult& effective);

// Returns what is wrong with a vector, or nullopt. Any thread may call it.
std::optional<BadVector> check_vector(std::span<const float> vector, const VectorRules& rules);

// The result for the vectors of several sequences. Both lists are in their order.
struct CheckedSequences {
  std::vector<PackedSequence> good;
  std::vector<FailedSequence> bad;
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
  // Returns the sequences that add() found not to be finite. Their vectors may still be replaced.
  std::span<const PackedSequence> not_finite() const { return not_finite_; }
  // Rounds and checks the vectors of not_finite(), and returns the result for `sequences`, all of
  // which add() must have got. Must be called once.
  CheckedSequences result(std::vector<PackedSequence> sequences);

 private:
  void round_and_check(const PackedSequence& sequence);
  std::optional<BadVector> check_each(const PackedSequence& sequence) const;

  WindowValues& values_;
  const VectorRules& rules_;
  const VectorPrecision precision_;
  std::vector<PackedSequence> not_finite_;
  std::map<int64_t, BadVector> bad_;  // by PackedSequence::number
};

}  // namespace encode
