// The best rows of a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace encode {

struct ScoredRow {
  int64_t row = 0;
  float score = 0;

  bool operator==(const ScoredRow&) const = default;
};

// Returns whether `a` comes before `b`: the score is higher, or it is equal and the row is lower.
inline bool comes_before(const ScoredRow& a, const ScoredRow& b) {
  return a.score > b.score || (a.score == b.score && a.row < b.row);
}

// Keeps the first `count` rows, in the order of comes_before(), of all rows that it is offered. The
// result does not depend on the order of the offers. Not thread-safe.
class TopRows {
 public:
  explicit TopRows(int64_t count) : count_(static_cast<size_t>(count)) {}

  // Returns true if a row with this score may belong to the result. Returns true for NaN, too.
  bool may_take(float score) const { return rows_.size() < count_ || !(score < rows_[0].score); }
  // Takes a row. Its score must not be NaN.
  void offer(const ScoredRow& row);
  // Returns the rows, the best one first. The object is empty afterwards.
  std::vector<ScoredRow> take();

 private:
  size_t count_;                 // at least 1
  std::vector<ScoredRow> rows_;  // a heap, whose first element is the worst row
};

}  // namespace encode
