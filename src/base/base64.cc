#include "base/base64.h"

#include <climits>
#include <openssl/evp.h>

namespace encode {

std::string base64_of(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with a NUL at the end
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  // Checks the text first: OpenSSL would skip white space at both ends, and would read padding at
  // any place as zeros.
  if (text.size() % 4 != 0 || text.size() > INT_MAX ||
      digits.find_first_not_of(kAlphabet) != std::string_view::npos)
    return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size != static_cast<int>(bytes.size())) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  // Two texts of one length can stand for the same bytes, because the last digit may have bits that
  // no byte takes.
  const size_t last = bytes.size() / 3 * 3;
  if (base64_of(std::string_view(bytes).substr(last)) != text.substr(last / 3 * 4))
    return std::nullopt;
  return bytes;
}

}  // namespace encode
