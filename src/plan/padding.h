// What padding would cost. encode packs rows without padding; other programs pad them.
#pragma once

#include <cstdint>
#include <span>

namespace encode {

// Computed positions for each real token; 1 is no waste.
struct PaddingCost {
  double longest = 1;     // each batch is padded to its longest row
  double max_length = 1;  // every row is padded to max_length
};

// `sample` has the tokens of rows in the order of the file, and is not empty. A batch has
// `batch_rows` rows of it, in that order.
PaddingCost padding_cost(std::span<const int32_t> sample, int64_t batch_rows, int64_t max_length);

}  // namespace encode
