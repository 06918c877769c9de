#include "job/passage_result.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace encode {
namespace {

// The passages [begin, end) of one row, numbered in their part.
struct Group {
  size_t begin = 0;
  size_t end = 0;
};

// Goes through the passages of a window, row by row. A passage has the number of its vector.
class PassageResult {
 public:
  // `redone` has the first passage of each sequence that was computed again.
  PassageResult(WindowValues values, const std::vector<FailedSequence>& failed,
                const std::set<int64_t>& redone)
      : values_(std::move(values)), failed_(failed), redone_(redone) {}

  void take(WindowPart& part) {
    const std::vector<PassagePlace> places = *std::exchange(part.passages, {});
    const bool mean = part.row_vectors.empty();
    const size_t first_value = kept_.size();
    if (mean) kept_.resize(first_value + static_cast<size_t>(part.rows.size() * values_.dim));
    std::vector<PassagePlace> kept_places;
    Group group;
    for (; group.begin < places.size(); group.begin = group.end) {
      const int64_t row = places[group.begin].row;
      group.end = group.begin + 1;
      while (group.end < places.size() && places[group.end].row == row) ++group.end;
      count_redone(group, part);
      std::optional<SetAsideRow> bad = failure(row, group);
      const auto number = static_cast<size_t>(row - part.rows.begin);
      if (mean && !bad) {
        const size_t at = first_value + number * static_cast<size_t>(values_.dim);
        bad =
            put_mean(places, group, std::span(kept_).subspan(at, static_cast<size_t>(values_.dim)));
      }
      const std::span own = std::span(places).subspan(group.begin, group.end - group.begin);
      if (bad) {
        leave_out(*bad, own, part);
      } else if (!mean) {
        kept_places.insert(kept_places.end(), own.begin(), own.end());
        const std::span<const float> vectors = vectors_of(group);
        kept_.insert(kept_.end(), vectors.begin(), vectors.end());
      }
    }
    if (!mean) part.passages = std::move(kept_places);
    std::sort(part.set_aside.begin(), part.set_aside.end(),
              [](const SetAsideRow& a, const SetAsideRow& b) { return a.row < b.row; });
    first_ += std::ssize(places);
  }

  std::vector<float> take_values() { return std::move(kept_); }
  std::vector<SetAsideRow> take_set_aside() { return std::move(set_aside_); }

 private:
  // The number of a passage of the part in the window.
  int64_t in_window(size_t number) const { return first_ + static_cast<int64_t>(number); }

  std::span<const float> vectors_of(const Group& group) const {
    return std::span(values_.floats)
        .subspan(static_cast<size_t>(in_window(group.begin) * values_.dim),
                 (group.end - group.begin) * static_cast<size_t>(values_.dim));
  }

  void count_redone(const Group& group, WindowPart& part) const {
    const auto first = redone_.lower_bound(in_window(group.begin));
    if (first != redone_.end() && *first < in_window(group.end)) ++part.stats.redone_rows;
  }

  // Returns why a row is set aside: the failure of its first sequence that failed.
  std::optional<SetAsideRow> failure(int64_t row, const Group& group) {
    const auto first_passage = [this] { return failed_[next_failed_].place.first_vector; };
    while (next_failed_ < failed_.size() && first_passage() < in_window(group.begin))
      ++next_failed_;
    if (next_failed_ == failed_.size() || first_passage() >= in_window(group.end))
      return std::nullopt;
    const FailedSequence& failed = failed_[next_failed_];
    return SetAsideRow{
        .row = row, .code = std::string(failed.code.name()), .message = failed.message};
  }

  // Puts the mean of the passages that have tokens into `mean`, which is zeros. Returns why the row
  // has none.
  std::optional<SetAsideRow> put_mean(std::span<const PassagePlace> places, const Group& group,
                                      std::span<float> mean) const {
    const auto dim = static_cast<size_t>(values_.dim);
    const std::span<const float> vectors = vectors_of(group);
    std::vector<double> sums(dim);
    bool any_tokens = false;
    for (size_t i = group.begin; i < group.end; ++i) {
      if (places[i].tokens == 0) continue;
      any_tokens = true;
      for (size_t d = 0; d < dim; ++d)
        sums[d] += static_cast<double>(vectors[(i - group.begin) * dim + d]);
    }
    if (!any_tokens) return std::nullopt;
    double squares = 0;
    for (const double sum : sums) squares += sum * sum;
    const double norm = std::sqrt(squares);
    if (norm == 0)
      return SetAsideRow{.row = places[group.begin].row,
                         .code = "vector.zero",
                         .message = "the mean of the vectors of its passages is 0"};
    for (size_t d = 0; d < dim; ++d) mean[d] = static_cast<float>(sums[d] / norm);
    return std::nullopt;
  }

  void leave_out(const SetAsideRow& row, std::span<const PassagePlace> own, WindowPart& part) {
    set_aside_.push_back(row);
    list_set_aside(row, part);
    part.stats.passages -= std::ssize(own);
    const bool counts_passages = !part.row_vectors.empty();
    for (const PassagePlace& passage : own) {
      part.stats.tokens -= passage.tokens;
      part.stats.zero_token_rows -= counts_passages && passage.tokens == 0 ? 1 : 0;
    }
    if (counts_passages) part.row_vectors[static_cast<size_t>(row.row - part.rows.begin)] = 0;
  }

  const WindowValues values_;
  const std::vector<FailedSequence>& failed_;  // ascending
  const std::set<int64_t>& redone_;
  int64_t first_ = 0;  // the passages of the parts before
  size_t next_failed_ = 0;
  std::vector<float> kept_;
  std::vector<SetAsideRow> set_aside_;
};

// Returns the first passages of the sequences in `redone` and of their duplicates.
std::set<int64_t> first_passages(std::set<int64_t> redone, const Window& window) {
  for (const DuplicateSequence& duplicate : window.duplicates) {
    if (redone.contains(duplicate.first)) redone.insert(duplicate.number);
  }
  if (window.vector_offsets.empty()) return redone;
  std::set<int64_t> passages;
  for (const int64_t sequence : redone)
    passages.insert(window.vector_offsets[static_cast<size_t>(sequence)]);
  return passages;
}

}  // namespace

void list_set_aside(const SetAsideRow& row, WindowPart& part) {
  part.set_aside.push_back(row);
  ++part.stats.set_aside_rows;
  const auto cut = std::find_if(part.truncated.begin(), part.truncated.end(),
                                [&row](const TruncatedRow& other) { return other.row == row.row; });
  if (cut == part.truncated.end()) return;
  --part.stats.truncated_rows;
  part.stats.lost_tokens -= cut->lost_tokens;
  part.truncated.erase(cut);
}

WindowVectors finish_passages(Window window, WindowValues values,
                              std::vector<FailedSequence> failed, const std::set<int64_t>& redone) {
  failed = with_duplicates(std::move(failed), window.duplicates);
  const std::set<int64_t> all_redone = first_passages(redone, window);
  WindowVectors result;
  const bool mean = window.parts.front().row_vectors.empty();
  if (!mean && failed.empty() && all_redone.empty()) {  // the usual case needs no copy
    result.parts = std::move(window.parts);
    result.values = std::move(values.floats);
    return result;
  }
  PassageResult passages(std::move(values), failed, all_redone);
  for (WindowPart& part : window.parts) passages.take(part);
  result.parts = std::move(window.parts);
  result.values = passages.take_values();
  result.set_aside = passages.take_set_aside();
  return result;
}

}  // namespace encode
