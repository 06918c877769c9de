// The result of an encoded window, which the commit thread gets. Any thread may call the function.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "encode/store.h"

#include "job/packed_sequences.h"
#include "job/sequence_reuse.h"
#include "job/window_producer.h"

namespace encode {

struct WindowVectors {
  std::vector<WindowPart> parts;  // their counts and lists are final
  // [vectors of all parts, dim]. With pooling, a row that was set aside has zeros.
  std::vector<float> values;
  std::vector<SetAsideRow> set_aside;  // the rows of the failed sequences, in ascending order
  ReusedSequences reused;
};

// Makes the result of a window, with `reused` empty.
// - The rows of the failed sequences and of their duplicates are set aside: the lists of their
// parts name them, and
//   RowStats counts them only in set_aside_rows and redone_rows.
// - With token embeddings, the values and the counts leave out the tokens of rows that were set
//   aside and the tokens in Window::skipped.
// - The rows of the sequences in `redone` and of their duplicates count in RowStats::redone_rows.
// `values` has the vectors of the whole window. Does not throw Error.
WindowVectors finish(Window window, WindowValues values, std::vector<FailedSequence> failed,
                     const std::set<int64_t>& redone);

}  // namespace encode
