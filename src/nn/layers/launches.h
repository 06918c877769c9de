// Splits a matrix product into launches with the same number of rows. Any thread may call these
// functions. They throw only what `body` throws.
#pragma once

#include <cstdint>

namespace encode {

// The numbers of rows in the launches of a model's matrix products. BatchPlan::launch_tokens
// explains launches. A batch is filled up to a multiple of `rows`. The blocks of
// Linear::in_blocks() and finish_rows() (models/layers.h) may be smaller than `rows`. They are
// computed in launches of `block_rows`.
struct Launches {
  int64_t rows = 0;        // for inputs with a multiple of this number of rows; 0: not used
  int64_t block_rows = 0;  // the same, for inputs that are no multiple of `rows`

  // Returns the number of rows in each launch of a product with `all` rows, which is `all` if
  // neither number divides it.
  int64_t rows_of(int64_t all) const {
    if (rows > 0 && all % rows == 0) return rows;
    return block_rows > 0 && all % block_rows == 0 ? block_rows : all;
  }
  bool operator==(const Launches&) const = default;
};

// Splits `all` rows into launches and calls body(begin, rows) for each.
template <typename Body>
void for_each_launch(int64_t all, const Launches& launches, const Body& body) {
  const int64_t rows = launches.rows_of(all);
  for (int64_t begin = 0; begin < all; begin += rows) body(begin, rows);
}

}  // namespace encode
