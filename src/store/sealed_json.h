// JSON objects that carry their own checksum:
//
//   {"checksum":"<32 hex digits>",<the rest>}
//
// The checksum is the XXH3-128 of the bytes `<the rest>}`, so a reader can check it without parsing
// JSON. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "encode/error.h"

#include "base/json.h"

namespace encode {

// The largest sealed text that is read: a manifest, a stream.json, or a record of a run.
inline constexpr int64_t kMaxSealedBytes = 16 << 20;

// Returns the text of `object`, which must not be empty, with its checksum and without a newline
// at the end. `indent` is the indent of Json::dump(); -1 writes one line. Bytes that are not UTF-8
// become U+FFFD. Does not throw Error.
std::string seal(const Json& object, int indent = -1);

// Returns the object without the field "checksum". Throws Error kData "store.damaged" if the
// checksum is missing or wrong, or if the text is not strict JSON. `where` names the document in
// the error.
Json unseal(std::string_view text, const std::string& where);

struct SealedFile {
  Json object;  // without the field "checksum"
  std::string checksum;
};
// Reads a file with one sealed object and a newline after it. Throws Error kData "store.damaged" as
// unseal() does, and what read_file() throws.
SealedFile unseal_file(const std::string& path, int64_t max_bytes, ErrorCode code);

// Returns the checksum at the beginning of a sealed text, without checking it. Returns "" if the
// text does not begin with a checksum.
std::string stated_checksum(std::string_view text);

// Makes the Error kData "store.damaged" for a file that is damaged or cannot be used.
Error damage(std::string what, std::string where, std::string expected, std::string found);
// Makes the Error kInternal "store.misuse" for a caller that breaks the rules of a function.
Error misuse(std::string what, std::string where, std::string expected = "correct use of the store",
             std::string found = "a call in the wrong order");

}  // namespace encode
