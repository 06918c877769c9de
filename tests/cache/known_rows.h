// Rows whose values are computed from their number, so that any process can recognise a wrong row.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/embedding_cache.h"

namespace encode::testing {

EmbeddingKey known_key(int64_t row);
std::vector<float> known_values(int64_t row, int64_t dim);

enum class Answer { kMissing, kRight, kWrong };
// Asks for a row.
Answer ask(EmbeddingCache& cache, int64_t row, int64_t dim);
// Adds the rows [begin, end) and writes them to disk.
void add_rows(EmbeddingCache& cache, int64_t begin, int64_t end, int64_t dim);

}  // namespace encode::testing
