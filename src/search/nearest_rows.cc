#include "search/nearest_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>

#include "encode/error.h"

namespace encode {
namespace {

// The numbers in a block. Rows that are converted to float32 first should stay in the first-level
// cache, 32 KiB. Other blocks are larger, because they are read from memory once.
constexpr int64_t kConvertedBlock = 8192;
constexpr int64_t kMappedBlock = 65536;

int64_t block_rows(const Matrix& matrix) {
  const OutputType type = matrix.type();
  const bool converted =
      type == OutputType::kFloat16 || type == OutputType::kInt8 || type == OutputType::kUint8;
  return std::max<int64_t>(1, (converted ? kConvertedBlock : kMappedBlock) / matrix.dim());
}

using BestOfQueries = std::vector<TopRows>;

[[noreturn]] void refuse_row(const Matrix& matrix, int64_t row) {
  throw Error({.exit_code = ExitCode::kData,
               .code = "matrix.damaged",
               .what = "the score of a row is not a number",
               .where = fmt::format("{}, row {}", matrix.path(), row),
               .expected = "finite values",
               .found = "NaN or infinity",
               .hint = "encode verify checks a matrix; encode run makes it again"});
}

void offer_block(const Matrix& matrix, int64_t first_row, const std::vector<float>& scores,
                 BestOfQueries& best) {
  int64_t row = first_row;
  for (size_t at = 0; at < scores.size(); ++row) {
    for (TopRows& top : best) {
      const float score = scores[at++];
      if (!top.may_take(score)) continue;
      if (std::isnan(score)) refuse_row(matrix, row);
      top.offer({.row = row, .score = score});
    }
  }
}

}  // namespace

std::vector<std::vector<ScoredRow>> nearest_rows(const Matrix& matrix, const RowScorer& scorer,
                                                 int64_t count, ThreadPool& pool) {
  const int64_t block = block_rows(matrix);
  const int64_t kept = std::min(count, std::max<int64_t>(1, matrix.rows()));
  const BestOfQueries none(static_cast<size_t>(scorer.queries()), TopRows(kept));
  std::vector<BestOfQueries> of_threads(static_cast<size_t>(pool.threads()), none);
  std::atomic<int64_t> next = 0;
  pool.run(pool.threads(), [&](int64_t thread) {
    BestOfQueries& best = of_threads[static_cast<size_t>(thread)];
    MatrixBuffer buffer;
    std::vector<float> scores;
    for (int64_t first = next.fetch_add(block); first < matrix.rows();
         first = next.fetch_add(block)) {
      const RowRange rows = {.begin = first, .end = std::min(first + block, matrix.rows())};
      scorer.score(rows, buffer, scores);
      offer_block(matrix, first, scores, best);
    }
  });
  std::vector<std::vector<ScoredRow>> result;
  for (size_t q = 0; q < none.size(); ++q) {
    TopRows all(kept);
    for (BestOfQueries& best : of_threads) {
      for (const ScoredRow& row : best[q].take()) all.offer(row);
    }
    result.push_back(all.take());
  }
  return result;
}

}  // namespace encode
