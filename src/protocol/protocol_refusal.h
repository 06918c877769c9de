// The errors of the protocol between encode and encode-worker.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace encode {

// Throws Error kInternal "job.protocol" for a document that the other program of the same build
// cannot have written.
[[noreturn]] void refuse_document(std::string what, std::string found);

// Parses strict JSON of at most `max_bytes`. Throws as refuse_document() does.
Json parse_document(std::string_view text, int64_t max_bytes);

}  // namespace encode
