// Base64 with padding and without white space (RFC 4648), by OpenSSL. Any thread may call these
// functions. They throw no Error.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace encode {

// `bytes` has at most 1 GiB.
std::string base64_of(std::string_view bytes);
// Returns the bytes that base64_of() writes as `text`, or nullopt for any other text.
std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace encode
