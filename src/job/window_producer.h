// Reads, tokenizes and packs ahead of the device, on threads of its own and in bounded memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "encode/batch.h"
#include "encode/job.h"
#include "encode/tokenizer.h"

#include "job/bounded_queue.h"
#include "job/stage_seconds.h"

namespace encode {

// A chunk that is to be encoded: its number and rows.
struct ChunkTask {
  int64_t index = 0;
  RowRange rows;
};

// A run of rows of one chunk, ready for the device. A chunk of any size goes through in windows of
// bounded size.
struct Window {
  ChunkTask chunk;
  RowRange rows;
  std::vector<PackedBatch>
      batches;  // rows counted from rows.begin; a row without tokens is in none
  RowStats stats;
  std::vector<TruncatedRow> truncated;
  std::vector<int32_t> row_tokens;  // [rows], with StreamIdentity::token_embeddings
  StageSeconds seconds;             // read, tokenize, pack

  bool opens_chunk() const { return rows.begin == chunk.rows.begin; }
  bool closes_chunk() const { return rows.end == chunk.rows.end; }
};

struct TokenizePlan {
  const Tokenizer* tokenizer = nullptr;  // null where every row is token ids
  TokenizeOptions options;
  std::string prompt;             // put before every text
  int32_t prompt_tokens = 0;      // see PackedBatch
  int64_t batch_tokens = 0;       // capacity of a batch
  int64_t window_text_bytes = 0;  // a window ends with the row that reaches it
  int64_t threads = 1;
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
  void produce_chunk(TextReader& reader, const ChunkTask& task, class SliceTokenizer& tokenizer);
  std::vector<Text> read_texts(TextReader& reader, RowRange rows) const;  // of one window

  const JobUnit& unit_;
  const std::vector<ChunkTask> tasks_;
  const TokenizePlan plan_;
  bool abandoned_ = false;  // producer thread only
  BoundedQueue<Window> queue_{2};
  std::thread thread_;
};

}  // namespace encode
