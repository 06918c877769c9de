// Tests that a list of files is checked, because a server may send any text.
#include "hub/listing.h"

#include <fmt/format.h>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "hub/pull.h"

namespace encode::hub {
namespace {

using ::testing::HasSubstr;

const std::string kSha(40, 'a');

std::string listing_of(const std::string& siblings) {
  return fmt::format(R"({{"sha": "{}", "private": false, "siblings": [{}]}})", kSha, siblings);
}

std::string with_path(const std::string& json_text) {
  return listing_of(fmt::format(R"({{"rfilename": "{}"}})", json_text));
}

ErrorDetail refused(const std::string& text) {
  try {
    parse_listing(text, "https://host/api");
  } catch (const Error& error) {
    return error.detail();
  }
  ADD_FAILURE() << "accepted: " << text.substr(0, 200);
  return {};
}

TEST(HubListing, HasTheHashOfEachFile) {
  const std::string git(40, 'b');
  const std::string sha256(64, 'c');
  const Listing listing =
      parse_listing(listing_of(fmt::format(
                        R"({{"rfilename": "1_Pooling/config.json", "size": 5, "blobId": "{0}"}},
          {{"rfilename": "model.safetensors", "size": 90, "blobId": "{0}",
            "lfs": {{"sha256": "{1}", "size": 90, "pointerSize": 130}}}},
          {{"rfilename": "mirror.json"}}, {{"rfilename": "Größe (1).txt", "blobId": "x"}})",
                        git, sha256)),
                    "url");
  EXPECT_EQ(listing.commit, kSha);
  ASSERT_EQ(listing.files.size(), 4U);
  EXPECT_EQ(listing.files.at("1_Pooling/config.json").etag, git);
  EXPECT_EQ(listing.files.at("1_Pooling/config.json").bytes, 5);
  EXPECT_EQ(listing.files.at("model.safetensors").etag, sha256);
  EXPECT_EQ(listing.files.at("mirror.json").etag, "");
  EXPECT_FALSE(listing.files.at("mirror.json").bytes);
  EXPECT_EQ(listing.files.at("Größe (1).txt").etag, "");
}

TEST(HubListing, HostilePathsAreRefused) {
  for (const std::string path :
       {"../x", "a/../../x", "a/..", "/etc/passwd", "a//b", "a/./b", "", "a/", ".", "..",
        "a\\u0000b", "a\\nb", "a\\u001b[2Jb", "a\\u202eb", "a\\u007fb"}) {
    const ErrorDetail error = refused(with_path(path));
    EXPECT_EQ(error.code.name(), "hub.path") << path;
    EXPECT_EQ(error.exit_code, ExitCode::kData);
    for (const char c : error.found) EXPECT_GE(c, ' ') << path;  // escaped for a terminal
  }
  EXPECT_EQ(refused(with_path(std::string(256, 'a'))).code.name(), "hub.path");
  std::string long_path = "a";
  for (int i = 0; i < 600; ++i) long_path += "/b";
  EXPECT_EQ(refused(with_path(long_path)).code.name(), "hub.path");
  const std::string twice = R"({"rfilename": "a"}, {"rfilename": "a"})";
  EXPECT_EQ(refused(listing_of(twice)).code.name(), "hub.path");
  // Control: the same names are harmless inside of a word.
  EXPECT_EQ(parse_listing(with_path("a..b/..c/d.."), "url").files.size(), 1U);
}

TEST(HubListing, AnythingElseIsNoListing) {
  for (const std::string& text :
       {std::string("<html>Please log in</html>"), std::string("[]"), std::string("{}"),
        std::string(R"({"sha": "main", "siblings": []})"),
        std::string(R"({"sha": 5, "siblings": []})"),
        fmt::format(R"({{"sha": "{}", "siblings": {{}}}})", kSha),
        listing_of(R"({"rfilename": 5})"), listing_of(R"("config.json")"),
        listing_of(R"({"rfilename": "a", "size": -1})"),
        listing_of(R"({"rfilename": "a", "size": 1e300})"),
        listing_of(R"({"rfilename": "a", "lfs": "x"})"), std::string(100'000, '[')}) {
    const ErrorDetail error = refused(text);
    EXPECT_EQ(error.code.name(), "hub.answer") << text.substr(0, 100);
    EXPECT_EQ(error.exit_code, ExitCode::kUnavailable);
    EXPECT_THAT(error.hint, HasSubstr("HF_ENDPOINT"));
  }
}

// The seed is fixed, so a failure repeats.
TEST(HubListing, ChangedBytesGiveAListingOrAnError) {
  const std::string good = listing_of(
      fmt::format(R"({{"rfilename": "1_Pooling/config.json", "size": 5, "blobId": "{0}"}},
          {{"rfilename": "model.safetensors", "lfs": {{"sha256": "{0}{0}", "size": 90}}}})",
                  std::string(40, 'b')));
  std::mt19937 random(11);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (int change = 0; change <= i % 3; ++change) {
      const size_t at = random() % text.size();
      if (random() % 4 == 0)
        text.erase(at, random() % 20);
      else
        text[at] = static_cast<char>(random());
    }
    try {
      parse_listing(text, "url");
      ++accepted;
    } catch (const Error& error) {
      EXPECT_TRUE(error.detail().code.in_group("hub")) << error.detail().code.name();
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 2900);
}

TEST(HubListing, HasAtMostSomeThousandFiles) {
  std::string siblings;
  for (int64_t i = 0; i <= kMaxFiles; ++i)
    siblings += fmt::format(R"({}{{"rfilename": "f{}"}})", i > 0 ? "," : "", i);
  EXPECT_EQ(refused(listing_of(siblings)).code.name(), "hub.limit");
}

TEST(HubListing, OnlyHashesNameBlobs) {
  EXPECT_TRUE(is_content_hash(std::string(40, '0')));
  EXPECT_TRUE(is_content_hash(std::string(64, 'f')));
  for (const std::string& text : {std::string(), std::string("../../../etc"), std::string(40, 'G'),
                                  std::string(64, 'F'), std::string(41, 'a')})
    EXPECT_FALSE(is_content_hash(text)) << text;
}

TEST(PullName, IsOrganisationNameAndRevision) {
  EXPECT_EQ(parse_pull_request("org/name").revision, "main");
  const PullRequest request = parse_pull_request("org/na.me_1@refs/pr/2");
  EXPECT_EQ(request.model, "org/na.me_1");
  EXPECT_EQ(request.revision, "refs/pr/2");
  for (const char* text : {"", "name", "a/b/c", "../x", "/etc/passwd", "org/", "/name", "org/name@",
                           "org/name@..", "org/name@a/../b", "org/na me", "https://host/org/name",
                           "org/name@a@b", "org--x/name", "org/na--me", "org/\xc3\xa4"}) {
    try {
      parse_pull_request(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.detail().code.name(), "hub.name") << text;
      EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    }
  }
}

}  // namespace
}  // namespace encode::hub
