// The number of rows in a chunk, for `chunk_size: auto` and for `encode plan`, and what a kill
// costs. Any thread may call these functions. They throw no Error.
#pragma once

#include <cstdint>
#include <string>

#include "run_plan/memory/memory_estimate.h"

namespace encode {

// The facts that decide the size of the chunks of a stream.
struct ChunkFacts {
  int64_t rows = 0;
  double row_seconds = 0;     // the time to encode a row, roughly
  double commit_seconds = 0;  // the time of one commit, which does not depend on its size
};

// A kill loses the window that is being encoded and the window that is being written. Each counts
// as one chunk here.
inline constexpr double kMostLostSeconds = 60;
inline constexpr double kMostCommitShare = 0.01;

// Returns the number of rows in a chunk, at least 1:
// - Two chunks take at most kMostLostSeconds, unless one row takes longer than half of that.
// - A commit takes at most kMostCommitShare of the time of its chunk, unless the first rule forbids
//   it.
// - If both rules allow several numbers, the geometric mean of the smallest and the largest is
//   taken, because both times are rough. It is larger if the stream would otherwise have more than
//   20,000 chunks.
// The number is 1, 2 or 5 times a power of ten, so that similar machines choose the same. It grows
// with the speed and with the time of a commit.
int64_t auto_chunk_rows(const ChunkFacts& facts);

// Returns about how many rows are lost at most if a worker is killed: the rows of the window that
// is written, of the window that is encoded, and the rows of earlier windows in a chunk that is not
// complete. The few batches of the next window that a GPU may have begun are not counted. Chunks
// must have request.chunk_rows rows.
int64_t most_lost_rows(const MemoryRequest& request);

// Returns "a kill loses at most 2,000 rows, about 3.20 s of work". `seconds` 0: the time is not
// known.
std::string describe_loss(int64_t rows, double seconds);

}  // namespace encode
