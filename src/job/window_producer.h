// Reads, tokenizes and packs rows on its own threads, in bounded memory, while the device encodes
// earlier rows.
#pragma once

#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "encode/batch.h"
#include "encode/job.h"
#include "encode/stage_seconds.h"
#include "encode/tokenizer.h"

#include "base/bounded_queue.h"
#include "job/tokenize_plan.h"

namespace encode {

// A chunk that must be encoded.
struct ChunkTask {
  int64_t index = 0;  // in the ChunkStore; 0 if the unit has no chunk files
  RowRange rows;
};

// The rows of one chunk that are in one window: the whole chunk or a part of it.
struct WindowPart {
  ChunkTask chunk;
  RowRange rows;
  RowStats stats;
  std::vector<TruncatedRow> truncated;
  std::vector<int32_t> row_tokens;  // [rows] with StreamIdentity::token_embeddings, else empty

  bool opens_chunk() const { return rows.begin == chunk.rows.begin; }
  bool closes_chunk() const { return rows.end == chunk.rows.end; }
  int64_t vectors() const { return row_tokens.empty() ? rows.size() : stats.tokens; }
};

// The rows that one call of Encoder::encode() takes. A large chunk is split into several windows of
// bounded size. Small chunks share a window, so that they fill the batches and no thread waits at
// the end of a chunk.
struct Window {
  std::vector<WindowPart> parts;  // at least one; each begins where the previous one ends
  // The batches number the rows of all parts from 0. Empty if no row has tokens.
  std::vector<PackedBatch> batches;
  StageSeconds seconds;  // of the stages read, tokenize and pack

  int64_t first_row() const { return parts.front().rows.begin; }
};

// The constructor starts the work, and the destructor stops it. One thread must call next().
class WindowProducer {
 public:
  // `unit` and `*plan.tokenizer` must outlive the producer. `tasks` are in row order. Failures of
  // the work appear in next().
  WindowProducer(const JobUnit& unit, std::vector<ChunkTask> tasks, const TokenizePlan& plan);
  WindowProducer(const WindowProducer&) = delete;
  WindowProducer& operator=(const WindowProducer&) = delete;
  ~WindowProducer();

  // Waits for the next window in row order. Returns nullopt at the end. Throws what reading or
  // tokenizing threw.
  std::optional<Window> next() { return queue_.pop(); }

 private:
  void produce();
  Window make_window(class PartSource& source) const;

  const JobUnit& unit_;
  const std::vector<ChunkTask> tasks_;
  const TokenizePlan plan_;
  BoundedQueue<Window> queue_{2};
  std::thread thread_;
};

}  // namespace encode
