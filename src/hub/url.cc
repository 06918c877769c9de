#include "hub/url.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdint>
#include <memory>
#include <new>

#include "base/units.h"
#include "hub/curl_functions.h"

namespace encode::hub {
namespace {

constexpr size_t kMaxUrlBytes = 16 << 10;

struct UrlCleanup {
  void operator()(CURLU* handle) const { curl().url_cleanup(handle); }
};
using Handle = std::unique_ptr<CURLU, UrlCleanup>;

// Returns "" if the URL does not have the part.
std::string part(CURLU* handle, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl().url_get(handle, which, &text, flags) != CURLUE_OK) return "";
  std::string copy = text;
  curl().free(text);
  return copy;
}

std::optional<Url> read(CURLU* handle) {
  Url url;
  url.text = part(handle, CURLUPART_URL);
  url.scheme = part(handle, CURLUPART_SCHEME);
  url.host = lower_case(part(handle, CURLUPART_HOST));
  url.port = part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  url.has_credentials =
      !part(handle, CURLUPART_USER).empty() || !part(handle, CURLUPART_PASSWORD).empty();
  url.has_query =
      !part(handle, CURLUPART_QUERY).empty() || !part(handle, CURLUPART_FRAGMENT).empty();
  const bool http = url.scheme == "http" || url.scheme == "https";
  if (!http || url.host.empty() || url.text.size() > kMaxUrlBytes) return std::nullopt;
  return url;
}

}  // namespace

bool Url::is_loopback() const {
  constexpr uint8_t kLoopbackNet = 127;
  in_addr address = {};
  // inet_pton() takes four decimal numbers and nothing else, so "127.0.0.1.example" is a name.
  const bool is_ipv4 = ::inet_pton(AF_INET, host.c_str(), &address) == 1;
  return host == "localhost" || host == "[::1]" ||
         (is_ipv4 && (ntohl(address.s_addr) >> 24) == kLoopbackNet);
}

std::optional<Url> parse_url(const std::string& text) {
  const Handle handle(curl().url());
  // CURLU_NON_SUPPORT_SCHEME: read() refuses other schemes, even if this libcurl supports them.
  if (text.size() > kMaxUrlBytes || curl().url_set(handle.get(), CURLUPART_URL, text.c_str(),
                                                   CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    return std::nullopt;
  return read(handle.get());
}

std::optional<Url> resolve_location(const Url& base, const std::string& location) {
  const Handle handle(curl().url());
  const auto set = [&handle](const std::string& text) {
    return curl().url_set(handle.get(), CURLUPART_URL, text.c_str(),
                          CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE) == CURLUE_OK;
  };
  if (location.size() > kMaxUrlBytes || !set(base.text) || !set(location)) return std::nullopt;
  return read(handle.get());
}

std::string escape_url_part(std::string_view text) {
  if (text.empty()) return "";  // curl_easy_escape() would take a length of 0 for an unknown length
  char* escaped = curl().easy_escape(nullptr, text.data(), static_cast<int>(text.size()));
  if (escaped == nullptr) throw std::bad_alloc();
  std::string copy = escaped;
  curl().free(escaped);
  return copy;
}

std::string escape_url_path(std::string_view path) {
  std::string escaped;
  while (true) {
    const size_t slash = std::min(path.find('/'), path.size());
    escaped += escape_url_part(path.substr(0, slash));
    if (slash == path.size()) return escaped;
    escaped += '/';
    path.remove_prefix(slash + 1);
  }
}

}  // namespace encode::hub
