// Chooses the number of rows in a chunk for `chunk_size: auto`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "encode/config.h"
#include "encode/model_directory.h"

#include "supervisor/plan/plan.h"

namespace encode {

// What decides the size of the chunks of a stream.
struct ChunkFacts {
  int64_t rows = 0;
  double row_seconds = 0;     // the time to encode a row, roughly
  double commit_seconds = 0;  // the time that one commit takes, whatever its size
};

// A kill loses the rows that are encoded and the rows that are written: the work of two chunks.
inline constexpr double kMostLostSeconds = 60;
inline constexpr double kMostCommitShare = 0.01;

// Returns the number of rows in a chunk, at least 1:
// - Two chunks take at most kMostLostSeconds, unless one row takes longer than half of that.
// - A commit takes at most kMostCommitShare of the time of its chunk, unless the first rule forbids
//   it.
// - Where the rules leave a choice, the number is in the middle (as a ratio), because both times
// are
//   rough. It is larger if the stream would otherwise have more than 20,000 chunks.
// The number is 1, 2 or 5 times a power of ten, so that similar machines choose the same. It grows
// with the speed and with the time of a commit.
int64_t auto_chunk_rows(const ChunkFacts& facts);

// Estimates the operations of one row of this many tokens: two for each weight of a matrix and
// token, and those of attention. Counts all experts of a mixture, which makes chunks smaller.
double row_operations(const ModelDirectory& directory, double row_tokens);

// Chooses the size for each stream of a run, and measures the disk at most once.
class ChunkSizes {
 public:
  explicit ChunkSizes(const RunConfig& config) : config_(config) {}

  // Sets `chunk_rows` and `chunk_reason` of a stream that is planned so far. Without `auto` the
  // number comes from the config. With `auto` it writes and deletes a small file in the cache
  // directory; throws Error kIoError, kCantCreate or kNoPermission if it cannot.
  void choose(const ModelDirectory& directory, StreamPlan& stream);

 private:
  double commit_seconds();

  const RunConfig& config_;
  std::optional<double> commit_seconds_;
};

}  // namespace encode
