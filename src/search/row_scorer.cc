#include "search/row_scorer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/names.h"
#include "base/output_types.h"
#include "kernels/kernels.h"

namespace encode {
namespace {

constexpr NameTable<Similarity, 4> kSimilarities = {{{"cosine", Similarity::kCosine},
                                                     {"dot", Similarity::kDot},
                                                     {"euclidean", Similarity::kEuclidean},
                                                     {"manhattan", Similarity::kManhattan}}};
constexpr int64_t kBits = 8;
constexpr size_t kBytes = 256;

bool is_packed(OutputType type) { return facts_of(type).quantization == Quantization::kBinary; }

// The quotient is computed in float64, where the square of a float32 number is exact. So the cosine
// of two rows with the same bits is exactly 1.
float cosine(float dot, double row_square, double query_square) {
  const double norms = std::sqrt(row_square * query_square);
  return norms == 0 ? 0.0F : static_cast<float>(static_cast<double>(dot) / norms);
}

}  // namespace

std::string_view to_string(Similarity similarity) { return name_of(kSimilarities, similarity); }

Similarity similarity_of(const std::string& name) { return value_of(kSimilarities, name); }

Similarity similarity_in(OutputType type, Similarity similarity) {
  return facts_of(type).quantization == Quantization::kNone ? similarity : Similarity::kDot;
}

RowScorer::RowScorer(const Matrix& matrix, Similarity similarity, std::span<const float> queries)
    : matrix_(matrix),
      similarity_(similarity_in(matrix.type(), similarity)),
      queries_(queries),
      count_(std::ssize(queries) / matrix.dim()) {
  for (int64_t q = 0; q < count_; ++q) {
    if (similarity_ == Similarity::kCosine)
      squares_.push_back(kernels::kernels().dot(query(q), query(q), matrix_.dim()));
    if (is_packed(matrix_.type())) add_bit_sums(query(q));
  }
}

void RowScorer::add_bit_sums(const float* query) {
  for (int64_t first = 0; first < matrix_.dim(); first += kBits) {
    const int64_t bits = std::min(kBits, matrix_.dim() - first);
    for (size_t byte = 0; byte < kBytes; ++byte) {
      float sum = 0;
      for (int64_t i = 0; i < bits; ++i) {
        const bool set = (byte >> static_cast<size_t>(kBits - 1 - i) & 1U) != 0;
        if (set) sum += query[first + i];
      }
      bit_sums_.push_back(sum);
    }
  }
}

void RowScorer::score(RowRange rows, MatrixBuffer& buffer, std::vector<float>& scores) const {
  scores.resize(static_cast<size_t>(rows.size() * count_));
  if (is_packed(matrix_.type())) {
    score_bits(matrix_.stored(rows, buffer), scores);
  } else {
    score_floats(matrix_.floats(rows, buffer), scores);
  }
}

void RowScorer::score_floats(std::span<const float> rows, std::vector<float>& scores) const {
  const kernels::Kernels& best = kernels::kernels();
  const int64_t dim = matrix_.dim();
  size_t at = 0;
  for (const float* row = rows.data(); row != rows.data() + rows.size(); row += dim) {
    const double square = similarity_ == Similarity::kCosine ? best.dot(row, row, dim) : 0;
    for (int64_t q = 0; q < count_; ++q, ++at) {
      switch (similarity_) {
        case Similarity::kCosine:
          scores[at] =
              cosine(best.dot(row, query(q), dim), square, squares_[static_cast<size_t>(q)]);
          break;
        case Similarity::kDot:
          scores[at] = best.dot(row, query(q), dim);
          break;
        case Similarity::kEuclidean:
          scores[at] = -std::sqrt(best.squared_distance(row, query(q), dim));
          break;
        case Similarity::kManhattan:
          scores[at] = -best.absolute_distance(row, query(q), dim);
          break;
      }
    }
  }
}

// A row has four sums, each of every fourth byte, so that an addition need not wait for the one
// before it. The outer loop goes over the queries, because the sums of one query fit the cache.
void RowScorer::score_bits(std::span<const std::byte> rows, std::vector<float>& scores) const {
  constexpr size_t kSums = 4;
  const auto columns = static_cast<size_t>(matrix_.columns());
  const auto queries = static_cast<size_t>(count_);
  const size_t count = rows.size() / columns;
  const size_t flip = item_facts(matrix_.type()).sign_bit;
  for (size_t q = 0; q < queries; ++q) {
    const float* const sums = bit_sums_.data() + q * columns * kBytes;
    for (size_t row = 0; row < count; ++row) {
      const std::byte* const bytes = rows.data() + row * columns;
      std::array<float, kSums> parts = {};
      size_t i = 0;
      for (; i + kSums <= columns; i += kSums) {
        for (size_t part = 0; part < kSums; ++part)
          parts[part] += sums[(i + part) * kBytes + (static_cast<size_t>(bytes[i + part]) ^ flip)];
      }
      for (; i < columns; ++i)
        parts[0] += sums[i * kBytes + (static_cast<size_t>(bytes[i]) ^ flip)];
      scores[row * queries + q] = (parts[0] + parts[1]) + (parts[2] + parts[3]);
    }
  }
}

}  // namespace encode
