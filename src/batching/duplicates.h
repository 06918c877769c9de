// Finds sequences of a window that are equal. Any thread may call the function. It throws no Error.
#pragma once

#include <cstdint>
#include <vector>

#include "batching/sequences.h"

namespace encode {

// A sequence that gets the vectors of an earlier one, because equal sequences have equal vectors.
struct DuplicateSequence {
  int64_t number = 0;                 // of the sequence in its window
  int64_t first = 0;                  // the first equal sequence, which is in no DuplicateSequence
  int64_t tokens = 0;                 // the number of tokens of each of the two
  int64_t vectors = 1;                // the number of vectors of each of the two
  int64_t first_vector = 0;           // the first vector of `number`
  int64_t first_vector_of_first = 0;  // the first vector of `first`

  bool operator==(const DuplicateSequence&) const = default;
};

// Returns the duplicates of a window in ascending order: the sequences with the token ids of an
// earlier one whose vectors have the same spans. Sequences without tokens are no duplicates.
std::vector<DuplicateSequence> find_duplicates(const Sequences& sequences);

}  // namespace encode
