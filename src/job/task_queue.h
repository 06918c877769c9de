// The chunks that a worker encodes, in row order. Several workers of a run share them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "encode/job.h"

#include "job/tokenize_plan.h"

namespace encode {

// A chunk that must be encoded.
struct ChunkTask {
  int64_t index = 0;  // in the ChunkStore; 0 if the unit has no chunk files
  RowRange rows;
};

// How many consecutive chunks a worker claims at once.
struct Stretch {
  int64_t most_chunks = 1;
  // A claim takes at most 1/shares of the chunks that are left, so that all workers end at about
  // the same time.
  int64_t shares = 1;
};

// Returns the stretch for a unit that `workers` workers share. most_chunks chunks fill about one
// window.
Stretch stretch_of(const JobUnit& unit, const TokenizePlan& plan, int64_t workers);

// Not thread-safe.
class TaskQueue {
 public:
  // Makes the queue of a single worker, which claims nothing. `tasks` are in row order.
  // NOLINTNEXTLINE(google-explicit-constructor): a list of tasks is the queue of a single worker
  TaskQueue(std::vector<ChunkTask> tasks) : tasks_(std::move(tasks)), claimed_end_(tasks_.size()) {}
  // Makes the queue of one of several workers. `claim` returns false for a chunk that another
  // worker has; this queue then skips the chunk. Chunks are claimed when they are needed, in
  // stretches of consecutive chunks.
  TaskQueue(std::vector<ChunkTask> tasks, std::function<bool(const ChunkTask&)> claim,
            const Stretch& stretch);

  // Claims the next stretch if the last one is used up. Returns false if no chunk is left. Passes
  // on what the function `claim` throws.
  bool claim();
  const ChunkTask& front() const { return tasks_[next_]; }  // only after claim() was true
  void pop() { ++next_; }
  // Returns true if front() is the first chunk of a stretch, which must begin a new window.
  bool begins_stretch() const { return next_ == stretch_begin_; }

 private:
  void claim_stretch();

  std::vector<ChunkTask> tasks_;
  std::function<bool(const ChunkTask&)> claim_;
  Stretch stretch_;
  size_t next_ = 0;
  size_t stretch_begin_ = 0;
  size_t claimed_end_ = 0;  // the tasks from next_ to here are claimed
};

}  // namespace encode
