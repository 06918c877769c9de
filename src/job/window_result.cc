#include "job/window_result.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "job/passage_result.h"
#include "job/skip_list.h"

namespace encode {
namespace {

// Returns the part that a row belongs to. `row` counts from the start of the window.
WindowPart& part_of(std::vector<WindowPart>& parts, int64_t row) {
  auto part = parts.begin();
  for (; row >= part->rows.size(); ++part) row -= part->rows.size();
  return *part;
}

void count_redone(Window& window, const std::set<int64_t>& redone) {
  for (const int64_t row : redone) ++part_of(window.parts, row).stats.redone_rows;
  for (const DuplicateSequence& duplicate : window.duplicates) {
    if (redone.contains(duplicate.first))
      ++part_of(window.parts, duplicate.number).stats.redone_rows;
  }
}

// Subtracts the tokens at `positions` from `row_vectors` and `stats.tokens`. The positions ascend
// and count from the start of the window.
void uncount_tokens(std::span<const int64_t> positions, std::vector<WindowPart>& parts) {
  auto next = positions.begin();
  int64_t row_end = 0;  // the number of tokens of the window up to the end of the row
  for (WindowPart& part : parts) {
    for (int32_t& tokens : part.row_vectors) {
      row_end += tokens;
      const auto first = next;
      next = std::lower_bound(first, positions.end(), row_end);
      tokens -= static_cast<int32_t>(next - first);
      part.stats.tokens -= next - first;
    }
  }
}

// Returns the positions of the skipped tokens and of all tokens of the failed sequences, each once
// and in ascending order.
std::vector<int64_t> positions_without_vector(std::vector<int64_t> skipped,
                                              std::span<const FailedSequence> failed) {
  for (const FailedSequence& sequence : failed) {
    for (int64_t token = 0; token < sequence.place.vectors; ++token)
      skipped.push_back(sequence.place.first_vector + token);
  }
  std::sort(skipped.begin(), skipped.end());
  skipped.erase(std::unique(skipped.begin(), skipped.end()), skipped.end());
  return skipped;
}

}  // namespace

WindowVectors finish(Window window, WindowValues values, std::vector<FailedSequence> failed,
                     const std::set<int64_t>& redone) {
  if (window.parts.front().passages)
    return finish_passages(std::move(window), std::move(values), std::move(failed), redone);
  count_redone(window, redone);
  failed = with_duplicates(std::move(failed), window.duplicates);
  const int64_t first_row = window.rows().begin;
  const bool per_token = !window.parts.front().row_vectors.empty();
  WindowVectors result;
  for (const FailedSequence& sequence : failed) {  // sequence i is row i
    const int64_t row = sequence.place.number;
    WindowPart& part = part_of(window.parts, row);
    result.set_aside.push_back({.row = first_row + row,
                                .code = std::string(sequence.code.name()),
                                .message = sequence.message});
    list_set_aside(result.set_aside.back(), part);
    if (per_token) continue;
    part.stats.tokens -= sequence.place.tokens;
    const std::span<float> vector = values.of(sequence.place);
    std::fill(vector.begin(), vector.end(), 0.0F);
  }
  for (WindowPart& part : window.parts) {
    std::sort(part.set_aside.begin(), part.set_aside.end(),
              [](const SetAsideRow& a, const SetAsideRow& b) { return a.row < b.row; });
  }
  if (per_token) {
    const std::vector<int64_t> positions =
        positions_without_vector(std::move(window.skipped), failed);
    uncount_tokens(positions, window.parts);
    erase_vectors(positions, values.dim, values.floats);
  }
  result.parts = std::move(window.parts);
  result.values = std::move(values.floats);
  return result;
}

}  // namespace encode
