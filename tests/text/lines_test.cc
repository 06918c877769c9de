#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "reading.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Lines : public ::testing::Test {
 protected:
  InputOptions file(std::string_view content) {
    InputOptions options;
    options.path = dir_.write("in.txt", content);
    return options;
  }
  TempDir dir_;
};

TEST_F(Lines, AFinalNewlineMakesNoRow) {
  EXPECT_THAT(rows_of(file("a\nb\n")), ElementsAre("line 1: a", "line 2: b"));
  EXPECT_THAT(rows_of(file("a\nb")), ElementsAre("line 1: a", "line 2: b"));
  EXPECT_THAT(rows_of(file("a\n\n")), ElementsAre("line 1: a", "line 2: "));
}

TEST_F(Lines, AnEmptyFileHasNoRows) {
  EXPECT_THAT(rows_of(file("")), IsEmpty());
  EXPECT_THAT(rows_of(file("\xEF\xBB\xBF")), IsEmpty());
  EXPECT_EQ(scan_texts(file(""), {}).files.front().sha256, sha256_hex(""));
}

TEST_F(Lines, CrlfEndsALineAndALoneCrIsText) {
  EXPECT_THAT(texts_of(file("a\r\nb\rc\n\r\nd\r\r\ne\r")),
              ElementsAre("a", "b\rc", "", "d\r", "e\r"));
}

TEST_F(Lines, OneByteOrderMarkIsStrippedAtTheStartOnly) {
  EXPECT_THAT(texts_of(file("\xEF\xBB\xBF\xEF\xBB\xBF"
                            "a\n\xEF\xBB\xBF"
                            "b\n")),
              ElementsAre("\xEF\xBB\xBF"
                          "a",
                          "\xEF\xBB\xBF"
                          "b"));
}

TEST_F(Lines, NulIsText) {
  using namespace std::string_literals;
  EXPECT_THAT(texts_of(file("a\0b\n\0\n"s)), ElementsAre("a\0b"s, "\0"s));
}

TEST_F(Lines, InvalidUtf8IsReplacedAndCounted) {
  const InputOptions options = file("good\nbad \xE2\x82 here\n\xEF\xBF\xBD\n");
  EXPECT_THAT(texts_of(options), ElementsAre("good", "bad \xEF\xBF\xBD here", "\xEF\xBF\xBD"));
  EXPECT_EQ(scan_texts(options, {}).utf8_replaced, 1);
}

TEST_F(Lines, InvalidUtf8IsABadRowOnRequest) {
  InputOptions options = file("good\nbad \xED\xA0\x80\n");
  options.utf8 = Utf8Policy::kError;
  const ErrorDetail error = error_of(options);
  EXPECT_EQ(error.code.name(), "text.utf8");
  EXPECT_EQ(error.exit_code, ExitCode::kData);
  EXPECT_EQ(error.where, options.path + ":2");
  EXPECT_THAT(texts_of(lenient(options)), ElementsAre("good"));
}

TEST_F(Lines, EmptyRowsFollowTheirPolicy) {
  InputOptions options = file("a\n\nb\n");
  EXPECT_EQ(scan_texts(options, {}).empty, 1);
  options.empty_row = EmptyRowPolicy::kReject;
  EXPECT_THAT(rows_of(options), ElementsAre("line 1: a", "line 3: b"));
  EXPECT_THAT(rejections_of(options), ElementsAre("2: empty row: no bytes"));
  options.empty_row = EmptyRowPolicy::kError;
  EXPECT_EQ(error_of(lenient(options)).code.name(), "text.empty");
}

TEST_F(Lines, ARowOverTheLimitIsABadRowAndTheNextOneIsRead) {
  InputOptions options = file("12345\n123456\n12345\r\n123456\r\n1234567\n1");
  options.max_row_bytes = 5;
  EXPECT_EQ(error_of(options).code.name(), "text.too_long");
  EXPECT_THAT(rows_of(lenient(options)),
              ElementsAre("line 1: 12345", "line 3: 12345", "line 6: 1"));
}

TEST_F(Lines, ReplacementMayMakeARowTooLong) {
  InputOptions options = file("12\xFF\n123\xFF\n");
  options.max_row_bytes = 5;
  EXPECT_EQ(texts_of(lenient(options)).size(), 1U);
}

TEST_F(Lines, ALineOfMoreThan64MiBEndsTheRunUnderAnyPolicy) {
  const size_t limit = size_t{64} << 20;
  EXPECT_THAT(texts_of(lenient(file(std::string(limit, 'x') + "\nb\n"))), ElementsAre("b"));
  const ErrorDetail error = error_of(lenient(file("a\n" + std::string(limit + 1, 'x') + "\nb\n")));
  EXPECT_EQ(error.code.name(), "text.record_limit");
  EXPECT_THAT(error.where, ::testing::EndsWith(":2"));
}

TEST_F(Lines, AFieldIsRefused) {
  InputOptions options = file("a\n");
  options.field = "text";
  EXPECT_EQ(error_of(options).exit_code, ExitCode::kConfig);
}

}  // namespace
}  // namespace encode::testing
