// URLs, as libcurl reads them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace encode::hub {

// The parts of an http or https URL that decide where a request goes.
struct Url {
  std::string text;  // the whole URL, normalized
  std::string scheme;
  std::string host;
  std::string port;              // the default port if the URL has none
  bool has_credentials = false;  // a user or a password before the host
  bool has_query = false;        // a query or a fragment

  // Returns true if both URLs have the same scheme, host and port, so that the same server answers
  // them.
  bool same_origin(const Url& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }
  // True if the host is a loopback address or "localhost", which libcurl resolves to one.
  bool is_loopback() const;
  // True if nobody on the way can read a request: it is encrypted, or stays on this machine.
  bool is_private() const { return scheme == "https" || is_loopback(); }
};

// Returns nullopt if the text is not an http or https URL with a host. The functions throw Error
// "hub.library". Any thread may call them.
std::optional<Url> parse_url(const std::string& text);
// Resolves the Location of a redirect. Returns nullopt as parse_url() does.
std::optional<Url> resolve_location(const Url& base, const std::string& location);

// Escapes all bytes but letters, digits and "-._~" as %XX.
std::string escape_url_part(std::string_view text);
// Does the same for each part of a path and keeps the slashes between them.
std::string escape_url_path(std::string_view path);

}  // namespace encode::hub
