#include "base/vocabulary_limit.h"

#include <fmt/format.h>
#include <utility>

namespace encode {

ErrorDetail outside_vocabulary(int64_t id, int64_t vocab_size, std::string where) {
  return {.code = "batch.token_id",
          .what = "a token id is outside the embedding table",
          .where = std::move(where),
          .expected = fmt::format("0 to {}", vocab_size - 1),
          .found = fmt::to_string(id),
          .hint = kTokenIdsHint};
}

}  // namespace encode
