// Tests how text is broken into the lines of a terminal.
#include "base/wrap_text.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

TEST(WrapText, BreaksAtWordsAndIndentsTheRest) {
  EXPECT_EQ(wrap_text("12:00 one two three\n", 12, 6), "12:00 one\n      two\n      three\n");
  EXPECT_EQ(wrap_text("it fits", 7, 2), "it fits");
  EXPECT_EQ(wrap_text("", 7, 2), "");
}

TEST(WrapText, WrapsEachLineOfTheTextAndKeepsItsSpaces) {
  EXPECT_EQ(wrap_text("error\n  hint  a b c\n\n  x", 11, 8),
            "error\n  hint  a b\n        c\n\n  x");
}

TEST(WrapText, LosesNoWordAtAnyWidth) {
  const std::string text = "every word of \xC3\xA4 sentence comes out, with '(a part' in quotes";
  for (size_t width = 0; width < 70; ++width) {
    std::istringstream before(text);
    std::istringstream after(wrap_text(text, width, 3));
    for (std::string expected, found; before >> expected;) {
      ASSERT_TRUE(after >> found);
      EXPECT_EQ(found, expected) << width;
    }
  }
}

TEST(WrapText, KeepsWhatAUserPastes) {
  const std::string path = "/a/long/path/that/is/wider/than/the/line.jsonl";
  const std::string command = "encode run --input 'my texts.csv' --output " + path;
  for (const std::string& whole :
       {path, std::string("'my long texts.csv'"), std::string("`encode status x.npy`")})
    EXPECT_THAT(wrap_text("12:00 see " + whole + " for more", 20, 6), HasSubstr(whole));
  EXPECT_EQ(wrap_text("12:00 to go on: " + command, 20, 6), "12:00 to go on:\n      " + command);
}

TEST(WrapText, BreaksASentenceAboutTheProgram) {
  EXPECT_EQ(wrap_text("no limit: encode cuts texts, as others do", 20, 2),
            "no limit:\n  encode cuts texts,\n  as others do");
}

TEST(WrapText, KeepsTheNameOfACommandWithItsOptions) {
  EXPECT_EQ(wrap_text("for more see encode run --help now", 20, 2),
            "for more see\n  encode run --help\n  now");
  EXPECT_EQ(wrap_text("what is encode", 11, 0), "what is\nencode");
  EXPECT_EQ(wrap_text("see encode ", 8, 0), "see\nencode ");
}

TEST(WrapText, TakesAnApostropheForALetter) {
  EXPECT_EQ(wrap_text("the model's own and the user's part", 12, 0),
            "the model's\nown and the\nuser's part");
}

TEST(WrapText, CountsCharactersAndNotBytes) {
  EXPECT_EQ(wrap_text("\xC3\xA4\xC3\xA4\xC3\xA4 \xC3\xB6\xC3\xB6\xC3\xB6", 7, 0),
            "\xC3\xA4\xC3\xA4\xC3\xA4 \xC3\xB6\xC3\xB6\xC3\xB6");
}

}  // namespace
}  // namespace encode::testing
