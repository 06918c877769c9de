// The sequences in the batches of a window, and their vectors: the values that the stages of
// WindowEncoder pass on. Sequences and vectors are numbered in their window from 0. Any thread may
// call the functions. They throw no Error.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "encode/batch.h"
#include "encode/error_code.h"

#include "batching/duplicates.h"

namespace encode {

// A sequence of a PackedBatch.
struct PackedSequence {
  int64_t number = 0;  // PackedBatch::sequence_numbers
  int64_t tokens = 0;
  int64_t first_vector = 0;
  int64_t vectors = 1;

  bool operator==(const PackedSequence&) const = default;
};

// A sequence that the device cannot encode, or of which a vector is wrong.
struct FailedSequence {
  PackedSequence place;
  ErrorCode code;
  std::string message;  // one phrase

  bool operator==(const FailedSequence&) const = default;
};

// Returns the sequences in the order of the batches.
std::vector<PackedSequence> packed_sequences(std::span<const PackedBatch> batches);
// Returns the sequences that are not in `failed`, in the same order.
std::vector<PackedSequence> without(std::vector<PackedSequence> sequences,
                                    std::span<const FailedSequence> failed);
// Returns the numbers of the failed sequences.
std::set<int64_t> numbers_of(std::span<const FailedSequence> failed);

// Returns the failed sequences and their duplicates, in ascending order.
std::vector<FailedSequence> with_duplicates(std::vector<FailedSequence> failed,
                                            std::span<const DuplicateSequence> duplicates);

// The vectors of a window, in the shape that Encoder::encode() gives them.
struct WindowValues {
  int64_t dim = 0;
  std::vector<float> floats;  // [vectors of the window, dim]

  // Returns the vectors of a sequence.
  std::span<float> of(const PackedSequence& sequence);
  std::span<const float> of(const PackedSequence& sequence) const;
};

}  // namespace encode
