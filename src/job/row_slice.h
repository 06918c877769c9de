// Where the vectors of a row lie in the values of a window.
#pragma once

#include <cstdint>
#include <span>

#include "encode/encoder.h"

namespace encode {

// A range of floats.
struct RowSlice {
  size_t begin;
  size_t size;

  template <typename T>
  std::span<T> of(std::span<T> values) const {
    return values.subspan(begin, size);
  }
};

// `token_offset` and `tokens` are those of the row's sequence (PackedBatch); they count only if the
// encoder gives a vector for each token.
inline RowSlice slice_of(const Encoder& encoder, int64_t row, int64_t token_offset,
                         int64_t tokens) {
  const auto dim = static_cast<size_t>(encoder.dim());
  if (!encoder.token_embeddings()) return {.begin = static_cast<size_t>(row) * dim, .size = dim};
  return {.begin = static_cast<size_t>(token_offset) * dim,
          .size = static_cast<size_t>(tokens) * dim};
}

}  // namespace encode
