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

// What is searched, and for what.
struct Search {
  const Matrix& matrix;
  const WantedRows& wanted;
};

[[noreturn]] void refuse_row(const Matrix& matrix, int64_t row) {
  throw Error({.code = "matrix.damaged",
               .what = "the score of a row is not a number",
               .where = fmt::format("{}, row {}", matrix.path(), row),
               .expected = "finite values",
               .found = "NaN or infinity",
               .hint = "encode verify checks a matrix; encode run makes it again"});
}

// Offers the scores of some rows to the best rows of each query.
void offer_block(RowRange rows, const std::vector<float>& scores, const Search& search,
                 BestOfQueries& best) {
  auto score = scores.begin();
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (TopRows& top : best) {
      const ScoredRow scored = {.row = row, .score = *score++};
      if (!top.may_take(scored.score)) continue;
      if (std::isnan(scored.score)) refuse_row(search.matrix, row);
      const std::span<const int64_t> others = search.wanted.but_not;
      if (!std::binary_search(others.begin(), others.end(), row)) top.offer(scored);
    }
  }
}

}  // namespace

std::vector<std::vector<ScoredRow>> nearest_rows(const Matrix& matrix, const RowScorer& scorer,
                                                 const WantedRows& wanted, ThreadPool& pool) {
  const Search search = {.matrix = matrix, .wanted = wanted};
  const int64_t block = block_rows(matrix);
  const int64_t kept = std::min(wanted.count, std::max<int64_t>(1, matrix.rows()));
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
      offer_block(rows, scores, search, best);
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
