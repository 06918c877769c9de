// Leaves the vectors of the tokens in the skip list of a late-interaction model out of a result.
#pragma once

#include <cstdint>
#include <vector>

#include "encode/tokenizer.h"

namespace encode {

// Returns the positions in `rows.ids` of the tokens that are in `skip_list`, in ascending order.
// `skip_list` is in ascending order too.
std::vector<int64_t> skipped_tokens(const TokenizedRows& rows,
                                    const std::vector<int32_t>& skip_list);

// Changes `positions`, which are in ascending order, after the tokens [begin, begin + count) are
// gone: their positions are removed, and the later ones become smaller by `count`.
void erase_tokens(std::vector<int64_t>& positions, int64_t begin, int64_t count);

// Removes the vectors at `positions`, which are in ascending order, from `values`, which is
// [tokens, dim].
void erase_vectors(const std::vector<int64_t>& positions, int64_t dim, std::vector<float>& values);

}  // namespace encode
