#include "hub/settings.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/environment.h"
#include "base/file.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "hub/url.h"
#include "model_dir/hub_cache.h"

namespace encode::hub {
namespace {

constexpr ErrorCode kSettingCode = "hub.setting";
constexpr size_t kMaxTokenBytes = 4096;
constexpr int64_t kMaxTimeoutSeconds = 86'400;

// Returns whether a switch is on, as huggingface_hub reads it.
bool is_on(std::string value) {
  for (char& c : value) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

Error bad_setting(std::string where, std::string expected, std::string found) {
  return Error({.code = kSettingCode,
                .what = "a setting for downloads cannot be used",
                .where = std::move(where),
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = "correct the variable, or unset it; docs/pull.md lists the variables"});
}

std::string endpoint() {
  std::string text = environment_variable("HF_ENDPOINT");
  while (text.ends_with('/')) text.pop_back();
  if (text.empty()) return HubSettings().endpoint;
  const auto refuse = [](std::string found) {
    throw bad_setting("HF_ENDPOINT",
                      "an address such as https://huggingface.co, without a user, a password or a "
                      "query",
                      std::move(found));
  };
  const std::optional<Url> url = parse_url(text);
  if (!url) refuse(fmt::format("'{}'", preview(text)));
  if (url->has_credentials) refuse("an address with a user or a password");
  if (url->has_query) refuse("an address with a query or a fragment");
  return text;
}

// A token goes into a header, so it must not be able to end the header.
std::string checked_token(std::string token, const std::string& where) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!token.empty() && is_space(token.back())) token.pop_back();
  token.erase(token.begin(), std::find_if_not(token.begin(), token.end(), is_space));
  const bool printable =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (printable && token.size() <= kMaxTokenBytes) return token;
  throw bad_setting(where, fmt::format("a token of at most {} visible characters", kMaxTokenBytes),
                    "another text (a token is never shown)");
}

std::string token_file() {
  if (std::string path = environment_variable("HF_TOKEN_PATH"); !path.empty()) return path;
  const std::vector<std::string> homes = hub_homes();
  return homes.empty() ? "" : homes.front() + "/token";
}

std::string token() {
  if (is_on(environment_variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return "";
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    std::string value = checked_token(environment_variable(name), name);
    if (!value.empty()) return value;
  }
  const std::string file = token_file();
  if (file.empty() || !path_exists(file, kSettingCode)) return "";
  return checked_token(read_file(file, kMaxTokenBytes + 2, kSettingCode), file);
}

std::chrono::seconds timeout(const char* name, std::chrono::seconds fallback) {
  const std::string text = environment_variable(name);
  if (text.empty()) return fallback;
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1 ||
      seconds > kMaxTimeoutSeconds) {
    throw bad_setting(name,
                      fmt::format("a whole number of seconds from 1 to {}", kMaxTimeoutSeconds),
                      fmt::format("'{}'", preview(text)));
  }
  return std::chrono::seconds(seconds);
}

std::string cache_folder() {
  const std::vector<std::string> folders = hub_cache_folders();
  if (!folders.empty()) return folders.front();
  throw bad_setting("HF_HUB_CACHE", "a folder for the models",
                    "neither HF_HUB_CACHE nor HF_HOME, XDG_CACHE_HOME or HOME is set");
}

}  // namespace

HubSettings hub_settings() {
  HubSettings settings;
  const std::string offline = environment_variable("HF_HUB_OFFLINE");
  settings.offline =
      is_on(offline.empty() ? environment_variable("TRANSFORMERS_OFFLINE") : offline);
  settings.cache = cache_folder();
  if (settings.offline) return settings;
  settings.endpoint = endpoint();
  settings.token = token();
  settings.ca_file = environment_variable("SSL_CERT_FILE");
  settings.metadata_timeout = timeout("HF_HUB_ETAG_TIMEOUT", settings.metadata_timeout);
  settings.download_timeout = timeout("HF_HUB_DOWNLOAD_TIMEOUT", settings.download_timeout);
  return settings;
}

}  // namespace encode::hub
