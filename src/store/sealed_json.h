// JSON objects that carry their own checksum:
//
//   {"checksum":"<32 hex digits>",<the rest>}
//
// The checksum is the XXH3-128 of the bytes of <the rest>} as they stand, so no reader has to
// format JSON to check it.
#pragma once

#include <string>
#include <string_view>

#include "encode/error.h"

#include "base/json.h"

namespace encode {

// `object` is not empty. `indent` as in Json::dump(); -1: one line. Bytes that are no UTF-8 become
// U+FFFD. No newline at the end.
std::string seal(const Json& object, int indent = -1);

// The object without "checksum". Throws Error kData, code "store.damaged", where anything does not
// fit; `where` names the document.
Json unseal(std::string_view text, const std::string& where);

// The checksum that a sealed text states; "" where it is none.
std::string stated_checksum(std::string_view text);

// The Error for something in the cache that is not as it was written.
Error damage(std::string what, std::string where, std::string expected, std::string found);

}  // namespace encode
