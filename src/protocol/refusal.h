// The errors of the protocol between encode and encode-worker.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace encode {

// A document that the other program cannot have written: kInternal "job.protocol".
[[noreturn]] void refuse_document(std::string what, std::string found);

// Strict JSON of at most `max_bytes`. Its faults are errors of the protocol too.
Json parse_document(std::string_view text, int64_t max_bytes);

}  // namespace encode
