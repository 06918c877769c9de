#include "base/hash.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/refused.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::refused;
using testing::TempDir;

// The first hash is from FIPS 180-2, appendix B.1. The second is the hash of the empty text.
constexpr std::string_view kSha256OfAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kSha256OfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
// The xxHash library publishes this hash of the empty text with the seed 0.
constexpr std::string_view kXxh3OfNothing = "99aa06d3014798d86001c324468d497f";

TEST(Sha256, MatchesThePublishedVectors) {
  EXPECT_EQ(sha256_hex("abc"), kSha256OfAbc);
  EXPECT_EQ(sha256_hex(""), kSha256OfNothing);
}

// "Pro Git" has the second hash, in the chapter on git objects. The first is the empty blob.
TEST(GitBlob, MatchesGit) {
  const TempDir dir;
  const auto hash = [](const std::string& path) {
    return git_blob_sha1_of(open_for_reading(path, "io.read"), path);
  };
  EXPECT_EQ(hash(dir.write("empty", "")), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(hash(dir.write("text", "test content\n")), "d670460b4b4aece5915caf5c68d12f560a9fe3e4");
}

TEST(Xxh3, MatchesThePublishedVector) { EXPECT_EQ(xxh3_hex(""), kXxh3OfNothing); }

// Returns a text that is longer than the buffer of sha256_of() and xxh3_file().
std::string long_text() {
  std::string text(5'000'011, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 + i / 1000);
  return text;
}

template <typename Hash>
std::string in_pieces(std::string_view text) {
  Hash hash;
  for (size_t step = 1; !text.empty(); step = step * 3 + 1) {
    const std::string_view piece = text.substr(0, step);
    hash.update(piece.data(), piece.size());
    text.remove_prefix(piece.size());
  }
  Hash moved = std::move(hash);
  return moved.hex();
}

TEST(Hashes, AreTheSameWholeInPiecesAndFromAFile) {
  const TempDir dir;
  const std::string text = long_text();
  const std::string path = dir.write("a", text);
  EXPECT_EQ(in_pieces<Sha256>(text), sha256_hex(text));
  EXPECT_EQ(sha256_of(open_for_reading(path, "io.read"), path), sha256_hex(text));
  EXPECT_EQ(in_pieces<Xxh3>(text), xxh3_hex(text));
  EXPECT_EQ(xxh3_file(path), xxh3_hex(text));
}

TEST(Hashes, SeeOneFlippedBit) {
  std::string text = long_text();
  const std::pair before(sha256_hex(text), xxh3_hex(text));
  text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
  EXPECT_NE(sha256_hex(text), before.first);
  EXPECT_NE(xxh3_hex(text), before.second);
}

TEST(Hashes, OfAMissingFileAreAnError) {
  EXPECT_EQ(refused([] { xxh3_file("/nowhere/a"); }).exit_code, ExitCode::kNoInput);
}

TEST(Hex, IsReadAsItWasWritten) {
  const std::vector<std::byte> bytes = {std::byte{0x00}, std::byte{0x7f}, std::byte{0xa0}};
  EXPECT_EQ(hex_of(bytes), "007fa0");
  EXPECT_EQ(bytes_of_hex("007fa0"), bytes);
  EXPECT_EQ(bytes_of_hex(""), std::vector<std::byte>());
}

TEST(Sha256, IsReadFromItsDigits) {
  const std::string digits = sha256_hex("a");
  EXPECT_EQ(sha256_from_hex(digits), sha256_bytes(std::as_bytes(std::span("a", 1))));
  EXPECT_EQ(sha256_from_hex(digits.substr(2)), std::nullopt);
  EXPECT_EQ(sha256_from_hex(digits + "00"), std::nullopt);
  EXPECT_EQ(sha256_from_hex("g" + digits.substr(1)), std::nullopt);
}

TEST(Hex, RefusesEverythingElse) {
  using std::string_literals::operator""s;
  for (const std::string& text :
       {"0"s, "0g"s, "A0"s, "0x"s, " 0"s, "00:11"s, "00\0"s, "00\0\0"s, "é"s})
    EXPECT_EQ(bytes_of_hex(text), std::nullopt) << text;
}

}  // namespace
}  // namespace encode
