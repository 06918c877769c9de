#include "known_rows.h"

#include <array>
#include <span>

#include "base/hash.h"

namespace encode::testing {

EmbeddingKey known_key(int64_t row) {
  return {.bytes = sha256_bytes(std::as_bytes(std::span(&row, 1)))};
}

std::vector<float> known_values(int64_t row, int64_t dim) {
  std::vector<float> values(static_cast<size_t>(dim));
  auto state = static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15U + 1;
  for (float& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<float>(state >> 40U) * 0x1p-24F;
  }
  return values;
}

Answer ask(EmbeddingCache& cache, int64_t row, int64_t dim) {
  std::vector<float> values(static_cast<size_t>(dim));
  std::array<CacheRequest, 1> request = {{{.key = known_key(row), .values = values}}};
  cache.find(request);
  if (!request[0].found) return Answer::kMissing;
  return values == known_values(row, dim) ? Answer::kRight : Answer::kWrong;
}

void add_rows(EmbeddingCache& cache, int64_t begin, int64_t end, int64_t dim) {
  for (int64_t row = begin; row < end; ++row) {
    const std::vector<float> values = known_values(row, dim);
    cache.put({.key = known_key(row), .values = values});
  }
  cache.write();
}

}  // namespace encode::testing
