#include "base/vocabulary_limit.h"

#include <algorithm>
#include <fmt/format.h>

namespace encode {

std::optional<ErrorDetail> outside_vocabulary(std::span<const int32_t> ids, int64_t vocab_size,
                                              IdSource source) {
  const auto bad = std::find_if(ids.begin(), ids.end(),
                                [vocab_size](int32_t id) { return id < 0 || id >= vocab_size; });
  if (bad == ids.end()) return std::nullopt;
  const bool of_input = source == IdSource::kInput;
  return ErrorDetail{
      .code = "batch.token_id",
      .what = of_input ? "a row has a token id that the model does not have"
                       : "the tokenizer gives a token id that the model does not have",
      .where = "",
      .expected = fmt::format("0 to {}", vocab_size - 1),
      .found = fmt::format("{} as entry {}", *bad, bad - ids.begin()),
      .hint = of_input ? "make the ids with the tokenizer of this model, or drop the row"
                       : "use the tokenizer and the weights of the same model"};
}

}  // namespace encode
