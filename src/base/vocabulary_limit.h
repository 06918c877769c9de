// The token ids that a model may have. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>

#include "encode/error.h"

namespace encode {

// The largest vocabulary of a model, and of its tokenizer.
inline constexpr int64_t kMaxVocabSize = 4'000'000;

// The hint of an error about the token ids of a row.
inline constexpr const char* kTokenIdsHint =
    "make the token ids with the tokenizer of this model, or download the model again";

// Makes the error kData "batch.token_id" for an id that is not in [0, vocab_size).
// `where` names the row. Throws no Error.
ErrorDetail outside_vocabulary(int64_t id, int64_t vocab_size, std::string where);

}  // namespace encode
