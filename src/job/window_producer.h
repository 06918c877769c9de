// Reads, tokenizes and packs ahead of the device, on threads of its own and in bounded memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "encode/batch.h"
#include "encode/job.h"
#include "encode/stage_seconds.h"
#include "encode/tokenizer.h"

#include "base/bounded_queue.h"
#include "job/tokenize_plan.h"

namespace encode {

// A chunk that is to be encoded: its number and rows.
struct ChunkTask {
  int64_t index = 0;
  RowRange rows;
};

// Rows of one chunk, in a window.
struct WindowPart {
  ChunkTask chunk;
  RowRange rows;
  RowStats stats;
  std::vector<TruncatedRow> truncated;
  std::vector<int32_t> row_tokens;  // [rows], with StreamIdentity::token_embeddings

  bool opens_chunk() const { return rows.begin == chunk.rows.begin; }
  bool closes_chunk() const { return rows.end == chunk.rows.end; }
  int64_t vectors() const { return row_tokens.empty() ? rows.size() : stats.tokens; }
};

// Rows that go through the device together. A large chunk takes several windows, each of bounded
// size; small chunks share one, so that they fill the batches and nobody waits at their ends.
struct Window {
  std::vector<WindowPart> parts;     // not empty; each begins where the one before it ends
  std::vector<PackedBatch> batches;  // rows counted from 0, part after part; none without tokens
  StageSeconds seconds;              // read, tokenize, pack

  int64_t first_row() const { return parts.front().rows.begin; }
};

// Starts at once. next() is for one thread; destruction stops the reading.
class WindowProducer {
 public:
  // `unit` and `*plan.tokenizer` must outlive it.
  WindowProducer(const JobUnit& unit, std::vector<ChunkTask> tasks, const TokenizePlan& plan);
  WindowProducer(const WindowProducer&) = delete;
  WindowProducer& operator=(const WindowProducer&) = delete;
  ~WindowProducer();

  // The next window in row order; nullopt at the end. Throws what reading or tokenizing threw.
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
