// Products in launches of one size.
#pragma once

#include <cstdint>

namespace encode {

// Calls body(begin, rows) for each launch of `launch_rows` of `rows` rows. A number of rows that is
// no multiple of it is one launch: such a product has a fixed number of rows of its own (Linear's
// blocks). See BatchPlan::launch_tokens.
template <typename Body>
void for_each_launch(int64_t rows, int64_t launch_rows, const Body& body) {
  if (launch_rows <= 0 || rows % launch_rows != 0) return body(int64_t{0}, rows);
  for (int64_t begin = 0; begin < rows; begin += launch_rows) body(begin, launch_rows);
}

}  // namespace encode
