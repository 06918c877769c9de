// Tests how the differences of two fingerprints are described.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "example_fingerprint.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Differences, NameTheFieldAndBothValues) {
  Fingerprint other = base();
  other.model_files[1].sha256 = "ee";
  other.result.max_length = 128;
  EXPECT_EQ(describe_differences(identity_of(base()), identity_of(other)),
            "model file 'model.safetensors': other content than before (the checksum differs)\n"
            "result.max_length: cache has 256, this run has 128");
  EXPECT_EQ(describe_differences(identity_of(base()), identity_of(base())), "");
  EXPECT_EQ(first_difference(identity_of(base()), identity_of(other)), "another model")
      << "what else differs may follow from it";
  EXPECT_EQ(first_difference(identity_of(base()), identity_of(other), {.model = "a", .input = ""},
                             {.model = "b", .input = ""}),
            "another model: a before, b now");
  other.model_files = base().model_files;
  EXPECT_EQ(first_difference(identity_of(base()), identity_of(other)),
            "another max_length: 256 before, 128 now");
}

// If only one of the two has a file, its hash and its size are no differences of their own.
TEST(Differences, OfAFileThatOnlyOneHasAreOneLine) {
  Fingerprint other = base();
  other.model_files.push_back({.name = "1_Dense/config.json", .bytes = 157, .sha256 = "ff"});
  EXPECT_EQ(describe_differences(identity_of(base()), identity_of(other)),
            "model file '1_Dense/config.json': only this run has this file");
  EXPECT_EQ(describe_differences(identity_of(other), identity_of(base())),
            "model file '1_Dense/config.json': only the cache has this file");
  Fingerprint parts = base();
  parts.input_files.push_back(
      {.path = "b.txt", .first_row = 5, .bytes = 4, .sha256 = sha256_of('b')});
  const std::string text = describe_differences(identity_of(base()), identity_of(parts));
  EXPECT_THAT(text, HasSubstr("input: one file before, several now"));
  EXPECT_THAT(text, Not(HasSubstr("checksum")));
  EXPECT_THAT(text, Not(HasSubstr("file_bytes")));
}

TEST(Differences, SayWhatANumberStandsFor) {
  Fingerprint limited = base();
  limited.input.limit_rows = 60;
  EXPECT_EQ(first_difference(identity_of(limited), identity_of(base())),
            "another limit_rows: 60 before, 0 (all rows) now");
  Fingerprint cut = base();
  cut.result.truncate_dim = 64;
  EXPECT_EQ(describe_differences(identity_of(cut), identity_of(base())),
            "result.truncate_dim: cache has 64, this run has null (all columns)");
}

TEST(Differences, OfTwoVersionsAreOneSentence) {
  StreamIdentity old = identity_of(base());
  old.fingerprint = R"({"format":6,"input":{},"model":{},"result":{}})";
  const std::string text = describe_differences(old, identity_of(base()));
  EXPECT_THAT(text, HasSubstr("another version of encode wrote it"));
  EXPECT_THAT(text, HasSubstr("version 6"));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace encode
