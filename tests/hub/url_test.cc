// Tests to which server a request goes, and whether the token goes with it.
#include "hub/url.h"

#include <gtest/gtest.h>

namespace encode::hub {
namespace {

Url url(const std::string& text) { return parse_url(text).value(); }

TEST(HubUrl, OriginIsSchemeHostAndPort) {
  const Url hub = url("https://huggingface.co/org/name");
  EXPECT_TRUE(hub.same_origin(url("https://HUGGINGFACE.co:443/other?x=1")));
  EXPECT_FALSE(hub.same_origin(url("http://huggingface.co/org/name")));
  EXPECT_FALSE(hub.same_origin(url("https://huggingface.co:8443/org/name")));
  EXPECT_FALSE(hub.same_origin(url("https://cdn.huggingface.co/org/name")));
  EXPECT_FALSE(hub.same_origin(url("https://huggingface.co.evil.example/org/name")));
}

TEST(HubUrl, OnlyHttpIsAnAddress) {
  for (const char* text : {"file:///etc/passwd", "ftp://host/x", "gopher://host/x", "host/x",
                           "/etc/passwd", "", "https://", "javascript:alert(1)"})
    EXPECT_FALSE(parse_url(text)) << text;
  EXPECT_FALSE(parse_url("https://host/" + std::string(20'000, 'a')));
  EXPECT_TRUE(parse_url("http://127.0.0.1:8080"));
}

TEST(HubUrl, CredentialsAreSeen) {
  EXPECT_TRUE(url("https://user:word@host/x").has_credentials);
  EXPECT_TRUE(url("https://user@host/x").has_credentials);
  EXPECT_FALSE(url("https://host/user:word@x").has_credentials);
}

TEST(HubUrl, LocationsAreResolved) {
  const Url base = url("https://host/a/b?c=1");
  EXPECT_EQ(resolve_location(base, "/d/e?f=2")->text, "https://host/d/e?f=2");
  EXPECT_EQ(resolve_location(base, "https://cdn.example/x%20y")->host, "cdn.example");
  EXPECT_EQ(resolve_location(base, "//other/x")->host, "other");
  EXPECT_FALSE(resolve_location(base, "file:///etc/passwd"));
}

TEST(HubUrl, OnlyEncryptedOrLocalRequestsArePrivate) {
  EXPECT_TRUE(url("https://mirror.example").is_private());
  EXPECT_TRUE(url("http://127.0.0.1:99").is_private());
  EXPECT_TRUE(url("http://localhost").is_private());
  EXPECT_FALSE(url("http://mirror.example").is_private());
  EXPECT_FALSE(url("http://localhost.evil.example").is_private());
  EXPECT_FALSE(url("http://127.0.0.1.evil.example").is_private());
  EXPECT_FALSE(url("http://127.evil.example").is_private());
  EXPECT_FALSE(url("http://128.0.0.1").is_private());
  EXPECT_TRUE(url("http://127.8.9.10").is_private());
  EXPECT_TRUE(url("http://[::1]:80").is_private());
}

TEST(HubUrl, PathsAndRevisionsAreEscaped) {
  EXPECT_EQ(escape_url_part("refs/pr/1"), "refs%2Fpr%2F1");
  EXPECT_EQ(escape_url_path("1_Pooling/config.json"), "1_Pooling/config.json");
  EXPECT_EQ(escape_url_path("a b?#%\n"), "a%20b%3F%23%25%0A");
}

}  // namespace
}  // namespace encode::hub
