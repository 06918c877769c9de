#include "search/top_rows.h"

#include <algorithm>
#include <utility>

namespace encode {

void TopRows::offer(const ScoredRow& row) {
  if (rows_.size() == count_) {
    if (!comes_before(row, rows_[0])) return;
    std::pop_heap(rows_.begin(), rows_.end(), comes_before);
    rows_.pop_back();
  }
  rows_.push_back(row);
  std::push_heap(rows_.begin(), rows_.end(), comes_before);
}

std::vector<ScoredRow> TopRows::take() {
  std::sort_heap(rows_.begin(), rows_.end(), comes_before);
  return std::exchange(rows_, {});
}

}  // namespace encode
