// Base64 (RFC 4648), as tokenizer.json uses it for binary parts.
#pragma once

#include <string>
#include <string_view>

namespace encode {

// False where `text` is not canonical base64 with padding.
bool decode_base64(std::string_view text, std::string& bytes);

}  // namespace encode
