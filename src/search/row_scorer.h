// Scores the rows of a matrix against queries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/types.h"

#include "store/matrix/matrix.h"

namespace encode {

// The similarities of sentence-transformers. A higher score is always more similar: kEuclidean and
// kManhattan are negative distances.
enum class Similarity { kCosine, kDot, kEuclidean, kManhattan };
std::string_view to_string(Similarity similarity);  // "cosine", "dot", "euclidean", "manhattan"
// Returns the value for ModelDirectory::similarity.
Similarity similarity_of(const std::string& name);

// Returns the similarity that the rows of a matrix are scored with, for a model with `similarity`:
// - Quantization::kNone: `similarity`.
// - Quantized: kDot, of the float32 query with the integers or with the bits (1 or 0). This is the
//   score after `rescore` in semantic_search_faiss() and semantic_search_usearch() of
//   sentence-transformers, computed for every row.
Similarity similarity_in(OutputType type, Similarity similarity);

// Immutable, so any thread may use it.
class RowScorer {
 public:
  // `queries` is [number of queries, dim] float32, row-major, of finite numbers. It must outlive
  // the object.
  RowScorer(const Matrix& matrix, Similarity similarity, std::span<const float> queries);

  int64_t queries() const { return count_; }

  // Computes the scores of some rows: row-major [rows.size(), queries()]. The score of a row
  // depends only on the row, the query and the instruction set of the CPU kernels. The cosine of a
  // row of zeros is 0. Throws what Matrix::stored() throws.
  void score(RowRange rows, MatrixBuffer& buffer, std::vector<float>& scores) const;

 private:
  const float* query(int64_t q) const { return queries_.data() + q * matrix_.dim(); }
  void score_floats(std::span<const float> rows, std::vector<float>& scores) const;
  void score_bits(std::span<const std::byte> rows, std::vector<float>& scores) const;
  void add_bit_sums(const float* query);

  const Matrix& matrix_;
  Similarity similarity_;
  std::span<const float> queries_;
  int64_t count_;
  std::vector<double> squares_;  // the squared norm of each query. Only for kCosine
  // Only for packed bits: [queries, columns, 256], the dot product of each possible byte with the
  // query.
  std::vector<float> bit_sums_;
};

}  // namespace encode
