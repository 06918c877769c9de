#include "search/nearest_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/output_types.h"
#include "store/quantize.h"

namespace encode {
namespace {

// The numbers in a block. Rows that are converted to float32 first should stay in the first-level
// cache, 32 KiB. Other blocks are larger, because they are read from memory once.
constexpr int64_t kConvertedBlock = 8192;
constexpr int64_t kMappedBlock = 65536;

int64_t block_rows(const Matrix& matrix) {
  const bool converted = matrix.type() != OutputType::kFloat32 &&
                         facts_of(matrix.type()).quantization != Quantization::kBinary;
  return std::max<int64_t>(1, (converted ? kConvertedBlock : kMappedBlock) / matrix.dim());
}

// Returns whether `a` comes before `b`: the score is higher, or it is equal and the row is lower.
bool comes_before(const ScoredRow& a, const ScoredRow& b) {
  return a.score > b.score || (a.score == b.score && a.row < b.row);
}

// Keeps the first `count` rows, in the order of comes_before(), of all rows that it is offered. The
// result does not depend on the order of the offers. Not thread-safe.
class TopRows {
 public:
  explicit TopRows(int64_t count) : count_(static_cast<size_t>(count)) {}

  // Returns true if a row with this score may belong to the result. Also returns true for NaN.
  bool may_take(float score) const { return rows_.size() < count_ || !(score < rows_[0].score); }
  // Takes a row. Its score must not be NaN.
  void offer(const ScoredRow& row);
  // Returns the rows, the best one first. The object is empty afterwards.
  std::vector<ScoredRow> take();

 private:
  size_t count_;                 // at least 1
  std::vector<ScoredRow> rows_;  // a heap, whose first element is the worst row
};

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

using BestOfQueries = std::vector<TopRows>;

// The parameters of one search.
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

// For each query, adds those of `rows` whose scores are among its best so far. `scores` has the
// scores of all queries for the first row, then those for the second row, and so on.
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

constexpr int64_t kBlockBytes = 1 << 18;

// Returns true if the run may have written zeros in place of vectors.
bool may_have_zeros(const Manifest& manifest) {
  return manifest.stats.zero_token_rows > 0 ||
         (manifest.quarantine == QuarantinePolicy::kZeros && manifest.stats.set_aside_rows > 0);
}

std::vector<std::byte> stored_zeros(const Matrix& matrix) {
  const Ranges ranges =
      has_ranges(matrix.type()) ? Ranges::of_final(matrix.file(), matrix.manifest()) : Ranges(0);
  std::vector<std::byte> bytes;
  Quantizer(matrix.type(), matrix.dim(), ranges)
      .convert(std::vector<float>(static_cast<size_t>(matrix.dim())), bytes);
  return bytes;
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

std::vector<int64_t> zero_rows(const Matrix& matrix) {
  std::vector<int64_t> rows;
  if (!may_have_zeros(matrix.manifest())) return rows;
  const std::vector<std::byte> zeros = stored_zeros(matrix);
  const int64_t block = std::max<int64_t>(1, kBlockBytes / matrix.row_bytes());
  MatrixBuffer buffer;
  for (int64_t first = 0; first < matrix.rows(); first += block) {
    const RowRange range = {.begin = first, .end = std::min(first + block, matrix.rows())};
    const std::span<const std::byte> stored = matrix.stored(range, buffer);
    for (int64_t row = range.begin; row < range.end; ++row) {
      const std::byte* const bytes = stored.data() + (row - first) * matrix.row_bytes();
      if (std::memcmp(bytes, zeros.data(), zeros.size()) == 0) rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace encode
