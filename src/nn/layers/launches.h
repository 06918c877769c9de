// Splits a matrix product into launches with the same number of rows.
#pragma once

#include <cstdint>

namespace encode {

// Splits `rows` rows into launches of `launch_rows` rows and calls body(begin, rows) for each
// launch. If `rows` is not a multiple of `launch_rows`, or `launch_rows` is 0, all rows are one
// launch. The caller then has a fixed number of rows in another way, for example a block of Linear.
// BatchPlan::launch_tokens explains launches.
template <typename Body>
void for_each_launch(int64_t rows, int64_t launch_rows, const Body& body) {
  if (launch_rows <= 0 || rows % launch_rows != 0) return body(int64_t{0}, rows);
  for (int64_t begin = 0; begin < rows; begin += launch_rows) body(begin, launch_rows);
}

}  // namespace encode
