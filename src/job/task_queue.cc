#include "job/task_queue.h"

#include <algorithm>
#include <utility>

#include "batching/window_bytes.h"

namespace encode {
namespace {

constexpr int64_t kMostChunks = 64;
// The number of windows that a worker holds at a time: it reads one, two are queued, it encodes
// one, and it commits one.
constexpr int64_t kWindows = 5;

}  // namespace

TaskQueue::TaskQueue(std::vector<ChunkTask> tasks, std::function<bool(const ChunkTask&)> claim,
                     const Stretch& stretch)
    : tasks_(std::move(tasks)), claim_(std::move(claim)), stretch_(stretch) {}

bool TaskQueue::claim() {
  if (next_ >= claimed_end_) claim_stretch();
  return next_ < claimed_end_;
}

void TaskQueue::claim_stretch() {
  const auto free = [this](size_t task) { return !claim_ || claim_(tasks_[task]); };
  while (next_ < tasks_.size() && !free(next_)) ++next_;
  stretch_begin_ = claimed_end_ = next_;
  if (next_ == tasks_.size()) return;
  const int64_t left = std::ssize(tasks_) - static_cast<int64_t>(next_);
  const auto stretch =
      static_cast<size_t>(std::clamp<int64_t>(left / stretch_.shares, 1, stretch_.most_chunks));
  do {
    ++claimed_end_;
  } while (claimed_end_ - next_ < stretch && claimed_end_ < tasks_.size() &&
           tasks_[claimed_end_].rows.begin == tasks_[claimed_end_ - 1].rows.end &&
           free(claimed_end_));
}

Stretch stretch_of(const JobUnit& unit, const TokenizePlan& plan, int64_t workers) {
  const int64_t rows = std::max<int64_t>(1, unit.scan.rows);
  const int64_t row_tokens = std::max<int64_t>(1, unit.scan.text_bytes / kTokenTextBytes / rows);
  const int64_t chunk_tokens = std::max<int64_t>(1, unit.chunk_rows) * row_tokens;
  return {.most_chunks = std::clamp<int64_t>(plan.window.tokens / chunk_tokens, 1, kMostChunks),
          .shares = kWindows * workers};
}

}  // namespace encode
