// The token ids that a model may have. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "encode/error.h"

namespace encode {

// The largest vocabulary of a model, and of its tokenizer.
inline constexpr int64_t kMaxVocabSize = 4'000'000;

enum class IdSource { kInput, kTokenizer };

// Returns the error kData "batch.token_id" for the first of the ids of a row that is not in
// [0, vocab_size), or nullopt. The caller sets ErrorDetail::where, which names the row.
std::optional<ErrorDetail> outside_vocabulary(std::span<const int32_t> ids, int64_t vocab_size,
                                              IdSource source);

}  // namespace encode
