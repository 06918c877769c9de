#include "job/window_part.h"

#include <cstddef>

namespace encode {
namespace {

// Counts a row, or all passages of a row. `row` has what its sequences have kept and lost.
void count_row(const TruncatedRow& row, WindowPart& part) {
  part.stats.tokens += row.tokens;
  part.stats.lost_tokens += row.lost_tokens;
  if (row.lost_tokens == 0) return;
  ++part.stats.truncated_rows;
  part.truncated.push_back(row);
}

}  // namespace

WindowPart part_of_rows(RowRange rows, const TokenizedRows& sequences, int64_t set_aside) {
  WindowPart part = {.chunk = {}, .rows = rows, .stats = {}, .truncated = {}, .set_aside = {}};
  for (int64_t i = 0; i < sequences.size(); ++i) {
    const int64_t tokens = std::ssize(sequences.row(i));
    part.stats.zero_token_rows += tokens == 0 ? 1 : 0;
    count_row({.row = rows.begin + i,
               .tokens = tokens,
               .lost_tokens = sequences.lost_tokens[static_cast<size_t>(i)]},
              part);
  }
  part.stats.zero_token_rows -= set_aside;
  return part;
}

WindowPart part_of_passages(RowRange rows, const TokenizedTexts& texts, RowVector row_vector) {
  WindowPart part = {.chunk = {}, .rows = rows, .stats = {}, .truncated = {}, .set_aside = {}};
  part.passages = texts.passages;
  part.stats.passages = std::ssize(texts.passages);
  std::vector<int32_t> counts(static_cast<size_t>(rows.size()));
  std::vector<TruncatedRow> sums(counts.size());
  for (size_t i = 0; i < texts.passages.size(); ++i) {
    const PassagePlace& passage = texts.passages[i];
    const auto row = static_cast<size_t>(passage.row);
    (*part.passages)[i].row += rows.begin;
    ++counts[row];
    sums[row].tokens += passage.tokens;
    sums[row].lost_tokens += texts.lost_tokens[i];
    if (row_vector == RowVector::kNone) part.stats.zero_token_rows += passage.tokens == 0 ? 1 : 0;
  }
  for (size_t row = 0; row < sums.size(); ++row) {
    sums[row].row = rows.begin + static_cast<int64_t>(row);
    count_row(sums[row], part);
    const bool empty = counts[row] > 0 && sums[row].tokens == 0;
    if (row_vector == RowVector::kMean) part.stats.zero_token_rows += empty ? 1 : 0;
  }
  if (row_vector == RowVector::kNone) part.row_vectors = std::move(counts);
  return part;
}

}  // namespace encode
