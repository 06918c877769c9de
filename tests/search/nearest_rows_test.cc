// Compares the search of a whole matrix with scores that are computed one by one in float64. The
// values are small integers, so that every sum is exact and many scores are equal.
#include "search/nearest_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "search/values_matrix.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kDim = 37;

std::vector<float> small_integers(size_t count, int most) {
  static std::mt19937 random(3);
  std::uniform_int_distribution<int> one(-most, most);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(one(random));
  return values;
}

std::vector<std::byte> random_bytes(size_t count) {
  static std::mt19937 random(4);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xffU);
  return bytes;
}

double score(std::span<const float> row, std::span<const float> query, Similarity similarity) {
  double dot = 0;
  double row_square = 0;
  double query_square = 0;
  double squared = 0;
  double absolute = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const double a = row[i];
    const double b = query[i];
    dot += a * b;
    row_square += a * a;
    query_square += b * b;
    squared += (a - b) * (a - b);
    absolute += std::abs(a - b);
  }
  switch (similarity) {
    case Similarity::kCosine:
      return row_square > 0 && query_square > 0 ? dot / std::sqrt(row_square * query_square) : 0;
    case Similarity::kDot:
      return dot;
    case Similarity::kEuclidean:
      return -std::sqrt(squared);
    case Similarity::kManhattan:
      return -absolute;
  }
  return 0;
}

// Scores all rows, and sorts them.
std::vector<ScoredRow> brute_force(const Matrix& matrix, std::span<const float> query,
                                   Similarity similarity, size_t count) {
  MatrixBuffer buffer;
  const std::span<const float> values = matrix.floats({0, matrix.rows()}, buffer);
  std::vector<ScoredRow> rows;
  for (int64_t row = 0; row < matrix.rows(); ++row) {
    const std::span<const float> one = values.subspan(static_cast<size_t>(row * kDim), kDim);
    rows.push_back({.row = row, .score = static_cast<float>(score(one, query, similarity))});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ScoredRow& a, const ScoredRow& b) { return a.score > b.score; });
  rows.resize(std::min(rows.size(), count));
  return rows;
}

std::vector<std::vector<ScoredRow>> search(const Matrix& matrix, Similarity similarity,
                                           const std::vector<float>& queries, int64_t count,
                                           int64_t threads = 2) {
  ThreadPool pool(threads, [] {});
  return nearest_rows(matrix, RowScorer(matrix, similarity, queries), {.count = count}, pool);
}

void expect_exact(const Matrix& matrix, Similarity similarity, Similarity scored_with) {
  const std::vector<float> queries = small_integers(kDim * 3, 2);
  for (const int64_t count : {1, 10, 5000, 10000}) {
    for (const int64_t threads : {1, 2, 5}) {
      const auto found = search(matrix, similarity, queries, count, threads);
      ASSERT_EQ(found.size(), 3U);
      for (size_t q = 0; q < 3; ++q) {
        const auto query = std::span(queries).subspan(q * kDim, kDim);
        EXPECT_EQ(found[q], brute_force(matrix, query, scored_with, static_cast<size_t>(count)))
            << to_string(matrix.type()) << " " << to_string(similarity) << " " << count << " rows, "
            << threads << " threads";
      }
    }
  }
}

// 4,000 rows are three blocks.
TEST(NearestRows, AreExactInFloatsWithEverySimilarity) {
  const ValuesMatrix matrix = ValuesMatrix::of_floats(kDim, small_integers(kDim * 4000, 1));
  for (const Similarity similarity :
       {Similarity::kCosine, Similarity::kDot, Similarity::kEuclidean, Similarity::kManhattan})
    expect_exact(matrix, similarity, similarity);
}

TEST(NearestRows, AreExactInFloat16) {
  std::vector<std::byte> halves;
  for (const float value : small_integers(kDim * 500, 1)) {
    const unsigned bits = value == 0 ? 0 : value > 0 ? 0x3c00 : 0xbc00;
    halves.push_back(static_cast<std::byte>(bits & 0xffU));
    halves.push_back(static_cast<std::byte>(bits >> 8U));
  }
  expect_exact(ValuesMatrix(OutputType::kFloat16, kDim, halves), Similarity::kCosine,
               Similarity::kCosine);
}

// Whatever the similarity of the model is, integers and bits are scored with the dot product.
TEST(NearestRows, AreExactInIntegersAndBits) {
  for (const auto& [name, type] : kOutputTypes) {
    if (facts_of(type).quantization == Quantization::kNone) continue;
    const auto bytes = static_cast<size_t>(output_columns(type, kDim)) * 1000;
    expect_exact(ValuesMatrix(type, kDim, random_bytes(bytes)), Similarity::kCosine,
                 Similarity::kDot);
  }
}

TEST(NearestRows, OfEqualRowsTheLowerComesFirst) {
  const ValuesMatrix matrix = ValuesMatrix::of_floats(1, std::vector<float>(200'000, 2));
  const auto found = search(matrix, Similarity::kDot, {1}, 3);
  EXPECT_THAT(found[0], ElementsAre(ScoredRow{0, 2}, ScoredRow{1, 2}, ScoredRow{2, 2}));
}

TEST(NearestRows, RowsThatAreNotWantedAreNeverReturned) {
  const ValuesMatrix matrix = ValuesMatrix::of_floats(1, {5, 4, 3, 2, 1});
  const std::vector<float> query = {1};
  const RowScorer scorer(matrix, Similarity::kDot, query);
  ThreadPool pool(2, [] {});
  const std::vector<int64_t> others = {0, 2};
  const auto found = nearest_rows(matrix, scorer, {.count = 2, .but_not = others}, pool);
  EXPECT_THAT(found[0], ElementsAre(ScoredRow{1, 4}, ScoredRow{3, 2}));
  const std::vector<int64_t> all = {0, 1, 2, 3, 4};
  EXPECT_TRUE(nearest_rows(matrix, scorer, {.count = 2, .but_not = all}, pool)[0].empty());
}

TEST(NearestRows, ARowOfZerosHasTheCosine0) {
  const ValuesMatrix matrix = ValuesMatrix::of_floats(2, {-1, 0, 0, 0, 1, 1});
  const auto found = search(matrix, Similarity::kCosine, {2, 0}, 3);
  EXPECT_THAT(found[0],
              ElementsAre(ScoredRow{2, std::sqrt(0.5F)}, ScoredRow{1, 0}, ScoredRow{0, -1}));
}

TEST(NearestRows, TheCosineOfARowWithItselfIsExactly1) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  std::vector<float> values(384 * 50);
  for (float& value : values) value = normal(random);
  const ValuesMatrix matrix = ValuesMatrix::of_floats(384, values);
  const auto found = search(matrix, Similarity::kCosine, values, 1);
  for (size_t row = 0; row < 50; ++row)
    EXPECT_THAT(found[row], ElementsAre(ScoredRow{static_cast<int64_t>(row), 1.0F}));
}

TEST(NearestRows, AValueThatIsNoNumberIsDamage) {
  std::vector<float> values(200'000, 1);
  values[150'001] = std::numeric_limits<float>::quiet_NaN();
  const ValuesMatrix matrix = ValuesMatrix::of_floats(2, values);
  for (const Similarity similarity :
       {Similarity::kCosine, Similarity::kDot, Similarity::kEuclidean, Similarity::kManhattan}) {
    try {
      search(matrix, similarity, {1, 1}, 2);
      ADD_FAILURE() << "it was not noticed with " << to_string(similarity);
    } catch (const Error& error) {
      EXPECT_EQ(error.detail().code.name(), "matrix.damaged");
      EXPECT_THAT(error.detail().where, ::testing::HasSubstr("row 75000"));
    }
  }
}

}  // namespace
}  // namespace encode::testing
