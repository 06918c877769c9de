// Reads, tokenizes and packs rows on its own threads, in bounded memory, while the device encodes
// earlier rows. Two windows may wait for the device, and one while TokenizePlan::guard is pressed.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "encode/batch.h"
#include "encode/job.h"
#include "encode/stage_seconds.h"
#include "encode/tokenizer.h"

#include "base/bounded_queue.h"
#include "batching/duplicates.h"
#include "cache/embedding_key.h"
#include "job/task_queue.h"
#include "job/tokenize_plan.h"

namespace encode {

// The rows of one chunk that are in one window: the whole chunk or a part of it.
struct WindowPart {
  ChunkTask chunk;
  RowRange rows;
  RowStats stats;
  std::vector<TruncatedRow> truncated;
  std::vector<SetAsideRow> set_aside;  // the rows that were set aside, which have no tokens
  // Those of them that were set aside when they were tokenized. The supervisor does not know them.
  std::vector<SetAsideRow> refused = {};
  // The number of vectors of each row: [rows] with StreamIdentity::has_offsets(), else empty.
  std::vector<int32_t> row_vectors = {};
  // The passages of the part, in order, if its rows are cut into passages. nullopt: each row is a
  // sequence.
  std::optional<std::vector<PassagePlace>> passages = {};

  bool opens_chunk() const { return rows.begin == chunk.rows.begin; }
  bool closes_chunk() const { return rows.end == chunk.rows.end; }
  int64_t vectors() const {
    if (row_vectors.empty()) return rows.size();
    return std::accumulate(row_vectors.begin(), row_vectors.end(), int64_t{0});
  }
};

// The rows that one call of Encoder::encode() takes. A large chunk is split into several windows of
// bounded size. Small chunks share a window, so that they fill the batches and no thread waits at
// the end of a chunk.
struct Window {
  std::vector<WindowPart> parts;  // at least one; each begins where the previous one ends
  // The sequences of all parts are numbered from 0: the rows, the passages, or the windows of texts
  // whose passages are encoded in their context.
  int64_t sequences = 0;
  // SequenceVectors::offsets of the sequences. With passages, a vector is one passage.
  std::vector<int64_t> vector_offsets;
  // Empty if no sequence has tokens.
  std::vector<PackedBatch> batches;
  std::vector<DuplicateSequence> duplicates;  // these sequences are in no batch
  // [sequences], set for those of the batches; empty: no cache
  std::vector<EmbeddingKey> keys;
  // The positions, among the tokens of the window, of the tokens that are in the skip list and so
  // have no vector in the result. In ascending order.
  std::vector<int64_t> skipped;
  StageSeconds seconds;  // of the stages read, tokenize and pack
  bool last = false;     // no window follows

  // Returns the number of vectors that the encoder gives.
  int64_t vectors() const { return vector_offsets.empty() ? sequences : vector_offsets.back(); }
  RowRange rows() const {
    return {.begin = parts.front().rows.begin, .end = parts.back().rows.end};
  }
};

// The constructor starts the work, and the destructor stops it. One thread must call next() and
// peek().
class WindowProducer {
 public:
  // `unit` and `*plan.tokenizer` must outlive the producer. next() throws the errors of the work.
  WindowProducer(const JobUnit& unit, TaskQueue tasks, const TokenizePlan& plan);
  WindowProducer(const WindowProducer&) = delete;
  WindowProducer& operator=(const WindowProducer&) = delete;
  ~WindowProducer();

  // Waits for the next window in row order. Returns nullopt at the end. Throws what reading or
  // tokenizing threw.
  std::optional<Window> next() { return queue_.pop(); }
  // Returns the window that next() will return, or null if there is none yet. The pointer is valid
  // until the next call of next(). next() moves the window, which does not change the addresses of
  // its batches.
  const Window* peek() { return queue_.peek(); }

 private:
  void produce();
  void await_memory();
  Window make_window(class PartSource& source) const;

  const JobUnit& unit_;
  TaskQueue tasks_;  // the thread owns it
  const TokenizePlan plan_;
  BoundedQueue<Window> queue_{2};
  std::thread thread_;
};

}  // namespace encode
