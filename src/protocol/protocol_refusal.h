// The errors of the protocol between encode and encode-worker. Any thread may call these functions.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace encode {

// Throws Error kConfig "job.protocol" for a document that no program of this build writes.
[[noreturn]] void refuse_document(std::string what, std::string found,
                                  std::string expected = "a message of this build");

// Parses strict JSON of at most `max_bytes`. Throws as refuse_document() does.
Json parse_document(std::string_view text, int64_t max_bytes);

// Parses a line of the event pipe, which is an object with the string "kind". Throws Error
// kInternal "worker.garbage" for any other line, which a library in encode-worker may have written.
Json parse_message(std::string_view line);

}  // namespace encode
