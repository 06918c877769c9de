// Leaves out the vectors of the tokens in the skip list of a late-interaction model. Any thread may
// call these functions. They throw no Error.
#pragma once

#include <cstdint>
#include <vector>

#include "encode/tokenizer.h"

namespace encode {

// Returns the positions in `rows.ids` of the tokens that are in `skip_list`, in ascending order.
// `skip_list` must be in ascending order.
std::vector<int64_t> skipped_tokens(const TokenizedRows& rows,
                                    const std::vector<int32_t>& skip_list);

// Removes the vectors at `positions` from `values`, which is [tokens, dim]. The positions are in
// ascending order, and no two are equal.
void erase_vectors(const std::vector<int64_t>& positions, int64_t dim, std::vector<float>& values);

}  // namespace encode
