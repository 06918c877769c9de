#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_file.h"
#include "reading.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class Jsonl : public OneFile {
 protected:
  Jsonl() : OneFile("in.jsonl") {}
};

std::string nested(int depth) {
  const auto n = static_cast<size_t>(depth);
  return std::string(n, '[') + "1" + std::string(n, ']');
}

TEST_F(Jsonl, TakesTheFieldByName) {
  EXPECT_THAT(
      rows_of(
          file("{\"id\":1,\"text\":\"a\"}\r\n{\"text\":\"b\\n\\u00e9\",\"x\":{\"text\":\"no\"}}")),
      ElementsAre("line 1: a", "line 2: b\n\xC3\xA9"));
}

TEST_F(Jsonl, TakesTheFieldByPointer) {
  EXPECT_THAT(texts_of(file(R"({"a":{"b":["x","y"]}})", "/a/b/1")), ElementsAre("y"));
  EXPECT_THAT(texts_of(file(R"({"a/b":{"~":"x","":"y"}})", "/a~1b/~0")), ElementsAre("x"));
  EXPECT_THAT(texts_of(file(R"({"a/b":{"~":"x","":"y"}})", "/a~1b/")), ElementsAre("y"));
  EXPECT_THAT(texts_of(file(R"({"a.b":"x"})", "a.b")), ElementsAre("x"));
  EXPECT_EQ(code_of(R"({"a":["x"]})", "/a/00"), "jsonl.missing");
  EXPECT_EQ(code_of(R"({"a":["x"]})", "/a/-"), "jsonl.missing");
  EXPECT_EQ(code_of(R"({"a":["x"]})", "/a/99999999999999999999"), "jsonl.missing");
}

TEST_F(Jsonl, AnArrayOfIntegersIsARowOfTokenIds) {
  const InputOptions options =
      file("{\"text\":[0,7,2147483647]}\n{\"text\":\"a\"}\n{\"text\":[]}\n");
  const auto reader = open_texts(options);
  Text text;
  ASSERT_TRUE(reader->next(text));
  EXPECT_TRUE(text.tokenized);
  EXPECT_THAT(text.input_ids, ElementsAre(0, 7, 2147483647));
  ASSERT_TRUE(reader->next(text));
  EXPECT_FALSE(text.tokenized);
  EXPECT_EQ(text.utf8, "a");
  EXPECT_THAT(text.input_ids, IsEmpty());
  ASSERT_TRUE(reader->next(text));
  EXPECT_TRUE(text.tokenized);
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(scan.tokenized, 2);
  EXPECT_EQ(scan.empty, 1);
  for (const char* ids : {"[-1]", "[2147483648]", "[1.5]", "[\"a\"]", "[null]", "[[1]]",
                          "[18446744073709551616]", "[-18446744073709551616]"}) {
    EXPECT_EQ(code_of("{\"text\":" + std::string(ids) + "}"), "jsonl.input_ids") << ids;
  }
}

// A number that wraps around at 32 or 64 bits would be another, valid id.
TEST_F(Jsonl, NoIntegerOverThirtyOneBitsIsATokenId) {
  std::vector<std::string> numbers;
  std::string zeros;
  for (int digits = 0; digits < 60; ++digits, zeros += '0')
    for (const char* lead : {"4294967297", "18446744073709551616", "36893488147419103233", "5"})
      numbers.push_back(lead + zeros);
  // 2^64, 2^65, 2^128 and a few thousand numbers of 20 digits that begin with 1, which simdjson
  // must tell from the largest numbers of 64 bits.
  numbers.emplace_back("340282366920938463463374607431768211461");
  for (uint64_t i = 0; i < 5000; ++i)
    numbers.push_back("1" + std::to_string(8'446'744'073'709'551'616U + i * 310'000'000'000'007));
  std::string content;
  int64_t lines = 0;
  for (const std::string& number : numbers) {
    if (number.size() < 10) continue;
    content += "{\"text\":[1," + number + ",2]}\n{\"text\":[-" + number + "]}\n";
    lines += 2;
  }
  const InputOptions options = lenient(file(content + "{\"text\":[7]}\n"));
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(scan.rejected, lines);
  EXPECT_EQ(scan.rows, 1);
  for (const std::string& reason : rejections_of(options))
    EXPECT_THAT(reason, HasSubstr("not a list of token ids: "));
}

TEST_F(Jsonl, AnIntegerTooLongForJsonIsRefusedWithItsRow) {
  const ErrorDetail error = error_of(file("{\"text\":[1]}\n{\"text\":[3,18446744073709551616]}\n"));
  EXPECT_EQ(error.code.name(), "jsonl.input_ids");
  EXPECT_THAT(error.where, ::testing::EndsWith("in.jsonl:2"));
  EXPECT_EQ(error.expected, "integers in [0, 2147483648)");
  EXPECT_EQ(error.found, "18446744073709551616 as entry 1");
  EXPECT_EQ(error.exit_code, ExitCode::kData);
}

// Another number of the line, which is too long for 64 bits, changes nothing about the message.
TEST_F(Jsonl, ANumberThatIsNoTokenIdIsShownAsItIsInTheFile) {
  const std::string other = R"(,"x":123456789012345678901,"y":1e999})";
  EXPECT_EQ(error_of(file(R"({"text":[1, 123456789012345678])" + other)).found,
            "123456789012345678 as entry 1");
  EXPECT_EQ(error_of(file(R"({"text":[1e400])" + other)).found, "1e400 as entry 0");
  EXPECT_EQ(error_of(file(R"({"text":[1,2,1.50])" + other)).found, "1.50 as entry 2");
}

TEST_F(Jsonl, RefusesAFieldThatIsNoPointer) {
  EXPECT_EQ(error_of(file("{}", "")).exit_code, ExitCode::kConfig);
  EXPECT_EQ(code_of("{}", "/a~2"), "jsonl.pointer");
  EXPECT_EQ(code_of("{}", "/a~"), "jsonl.pointer");
}

TEST_F(Jsonl, MissingNullAndOtherTypesAreBadRowsWithTheirLine) {
  const InputOptions options =
      lenient(file("{\"text\":\"a\"}\n{\"txt\":\"b\"}\n{\"text\":null}\n{\"text\":1}\n{\"text\":["
                   "\"a\"]}\n[1]\n\"x\"\n{\"text\":\"c\"}\n"));
  EXPECT_THAT(rows_of(options), ElementsAre("line 1: a", "line 8: c"));
  EXPECT_THAT(rejections_of(options),
              ElementsAre(HasSubstr("2: the field 'text' is missing"),
                          HasSubstr("3: the field 'text' is not text: null"), HasSubstr("4: "),
                          HasSubstr("5: "), HasSubstr("6: "), HasSubstr("7: ")));
  const ErrorDetail error = error_of(file("{\"text\":\"a\"}\n{\"txt\":\"b\"}\n"));
  EXPECT_EQ(error.code.name(), "jsonl.missing");
  EXPECT_THAT(error.where, ::testing::EndsWith("in.jsonl:2"));
}

TEST_F(Jsonl, AMissingFieldIsAnErrorWithTheFieldsAndHowToNameOne) {
  struct Case {
    const char* line;
    const char* field;
    const char* found;
    const char* hint;
  };
  const std::vector<Case> cases = {
      {R"({"id":1,"txt":"a"})", "text", "id, txt", "did you mean 'txt'?"},
      {R"({"doc":{"body":"a"}})", "doc.body", "doc", "did you mean /doc/body?"},
      {R"({"a":{"b/c":{"d":"x"}}})", "a.b/c.d", "a", "did you mean /a/b~1c/d?"},
      {R"({"docs":[{"body":"a"}]})", "docs.0.body", "docs", "did you mean /docs/0/body?"},
      {R"({"id":1,"doc":{"body":"a"}})", "body", "id, doc", "did you mean /doc/body?"},
      {R"({"doc":{"body":"a","id":1}})", "/doc/bodi", "body, id", "did you mean '/doc/body'?"},
      {R"({"doc":{"body":"a"}})", "doc", "an object with body",
       "a field that holds text: /doc/body"},
      {R"({"id":1,"meta":{"lang":"en","source":{"body":"a"}}})", "body", "id, meta",
       "did you mean /meta/source/body?"},
      {R"({"id":1,"meta":{"lang":"en","source":{"body":"a text"}}})", "summary", "id, meta",
       "name a field that holds text: /meta/source/body, /meta/lang"},
      {R"({"a":1,"b":2})", "x.y", "a, b", "correct the row"},
      {R"({"\u001b[31m":1})", "text", "\\x1b[31m", "correct the row"},
      {"[1]", "text", "no such entry in an array", "correct the row"},
  };
  for (const Case& test : cases) {
    InputOptions options = file(std::string(test.line) + "\n");
    options.field = test.field;
    const ErrorDetail error = error_of(options);
    EXPECT_THAT(error.found, HasSubstr(test.found)) << test.line;
    EXPECT_THAT(error.hint, HasSubstr(test.hint)) << test.line;
    EXPECT_THAT(error.hint, Not(HasSubstr("--bad-row"))) << "no row would be left";
  }
  std::string wide = "{\"a0\":0";
  for (int i = 1; i < 5000; ++i) wide += ",\"a" + std::to_string(i) + "\":0";
  EXPECT_LT(error_of(file(wide + "}\n")).found.size(), 400U);
}

TEST_F(Jsonl, AFieldThatIsNotTextIsAnErrorWithTheFieldsThatAre) {
  struct Case {
    const char* line;
    const char* field;
    const char* hint;
  };
  for (const Case& test : std::vector<Case>{
           {R"({"id":1,"text":"a","/x":"b","doc":{"body":"c","n":1}})", "id",
            "text, /~1x, /doc/body"},
           {R"({"id":null,"n":2.5,"t":"a"})", "id", "t"},
           {R"({"tags":["x"],"t":"a"})", "tags", "t"},
           {R"({"a":{"b":{"c":"x"}},"t":"y"})", "/a/b", "/a/b/c, t"},
           {R"({"id":1,"ids":[1,2]})", "id", "ids"},
           {R"({"id":1,"meta":{"lang":"en","source":{"body":"a text"}}})", "id",
            "/meta/source/body, /meta/lang"},
           {R"({"lang":"en","doc":{"body":"a text","id":7}})", "doc", "/doc/body, lang"},
       }) {
    InputOptions options = file(std::string(test.line) + "\n" + test.line + "\n");
    options.field = test.field;
    const ErrorDetail error = error_of(options);
    EXPECT_THAT(error.what, HasSubstr("is not"));
    EXPECT_EQ(error.hint, std::string("name a field that holds text: ") + test.hint);
  }
  InputOptions numbers = file(R"({"id":1})");
  numbers.field = "id";
  EXPECT_THAT(error_of(numbers).hint, HasSubstr("no field here holds text"));
}

// If other rows are good, the named field is right, so the hint is about the bad row.
TEST_F(Jsonl, ABadRowAmongGoodOnesIsToBeCorrectedOrLeftOut) {
  const std::string bad = R"({"text":1,"title":"b"})"
                          "\n";
  const std::string good = R"({"text":"a"})"
                           "\n";
  for (const std::string& lines : {good + bad, bad + good}) {
    EXPECT_THAT(error_of(file(lines)).hint,
                StartsWith("correct the row; to leave such rows out, give --bad-row reject"));
  }
  EXPECT_THAT(
      error_of(file(good + R"({"title":"b"})" + "\n")).hint,
      StartsWith("correct the row; to leave the field empty, give --missing-field empty, or set "
                 "missing_field: empty in the config; to leave such rows out, give "
                 "--bad-row reject"));
  EXPECT_EQ(error_of(file(bad + bad)).hint, "name a field that holds text: title");
  std::string many;
  for (int i = 0; i < 100; ++i) many += bad;
  EXPECT_EQ(error_of(file(many + bad + good)).hint, "name a field that holds text: title");
  // A row without a byte is no reason to leave out the others.
  EXPECT_EQ(error_of(file(bad + "{\"text\":\"\"}\n")).hint, "name a field that holds text: title");
}

TEST_F(Jsonl, RowsOfWhiteSpaceAreCounted) {
  const InputScan scan = scan_texts(
      file("{\"text\":\"\"}\n{\"text\":\" \\t\\n\"}\n{\"text\":\" a\"}\n{\"text\":[]}\n"), {});
  EXPECT_EQ(scan.rows, 4);
  EXPECT_EQ(scan.empty, 2);
  EXPECT_EQ(scan.blank, 1);
}

TEST_F(Jsonl, TheFieldTwiceIsABadRowAndAnotherKeyTwiceIsNot) {
  EXPECT_EQ(code_of(R"({"text":"a","text":"b"})"), "jsonl.duplicate");
  EXPECT_EQ(code_of(R"({"text":"a","te\u0078t":"b"})"), "jsonl.duplicate");
  EXPECT_EQ(code_of(R"({"a":{"text":"x"},"a":{"text":"y"}})", "/a/text"), "jsonl.duplicate");
  EXPECT_THAT(texts_of(file(R"({"id":1,"text":"a","id":2})")), ElementsAre("a"));
}

TEST_F(Jsonl, SaysWhatIsWrongWithALineAndInWhichColumn) {
  const std::vector<std::pair<std::string, std::string>> lines = {
      {R"({"text":"a","b":NaN})", "NaN, which JSON does not have, at column 17"},
      {R"({"text":"a","b":-Infinity})", "-Infinity, which JSON does not have, at column 17"},
      {R"({"text":"a","b":Infinity})", "Infinity, which JSON does not have, at column 17"},
      {"\xEF\xBB\xBF{\"text\":\"a\"}", "a byte order mark, which JSON does not have, at column 1"},
      {R"({"text":"a"} x)", "text after the end of the document, at column 14"},
      {R"({"text":"a"} "x y")", "text after the end of the document, at column 14"},
      {R"({"text":"a"}{"text":"b"})", "text after the end of the document, at column 13"},
      {R"({"text":"a")", "the end of the text inside the document, at column 12"},
      {R"({"text":"a)", "the end of the text inside the document, at column 11"},
      {R"({"text":"a",})", "unexpected text: }, at column 13"},
      {R"({'text':'a'})", "unexpected text: 'text':'a'}, at column 2"},
      {"{\"text\":\"a\tb\"}",
       R"(the control character \x09, which JSON spells \u0009, at column 11)"},
  };
  for (const auto& [line, found] : lines) {
    const ErrorDetail error = error_of(file("{\"text\":\"\"}\n" + line + "\n"));
    EXPECT_EQ(error.code.name(), "jsonl.syntax");
    EXPECT_EQ(error.what, "the line is not a JSON document");
    EXPECT_THAT(error.where, ::testing::EndsWith("in.jsonl:2"));
    EXPECT_EQ(error.expected, "one JSON document (RFC 8259)");
    EXPECT_EQ(error.found, found) << line;
    EXPECT_EQ(error.hint,
              "correct the row; to leave such rows out, give --bad-row reject, or set "
              "bad_row: reject in the config");
  }
}

TEST_F(Jsonl, MalformedJsonIsABadRowAlsoBehindTheField) {
  for (const char* line :
       {R"({"text":"a")", R"({"text":"a"} x)", R"({"text":"a"}{"text":"b"})", R"({"text":"a",})",
        R"({"text":"a","b":tru})", R"({"text":"a","b":01})", R"({"text":"a","b":NaN})",
        R"({'text':'a'})", "{\"text\":\"a\tb\"}", R"({"text":"\x"})",
        R"({"text":"a","b":012345678901234567890})", "{\"text\":\"a\"\f}"}) {
    EXPECT_EQ(code_of(line), "jsonl.syntax") << line;
  }
}

TEST_F(Jsonl, NulIsTextWhenEscapedAndBadJsonWhenNot) {
  using namespace std::string_literals;
  EXPECT_THAT(texts_of(file(R"({"text":"a\u0000b"})")), ElementsAre("a\0b"s));
  EXPECT_EQ(code_of("{\"text\":\"a\0b\"}"s), "jsonl.syntax");
  EXPECT_EQ(code_of("\0\n"s), "jsonl.syntax");
}

TEST_F(Jsonl, ABlankLineIsABadRowUnlessOnlyBlankLinesFollow) {
  EXPECT_THAT(texts_of(file("{\"text\":\"a\"}\n \r\n")), ElementsAre("a"));
  EXPECT_THAT(texts_of(file("")), IsEmpty());
  for (const size_t block : {size_t{1}, size_t{3}, RowReader::kBlockBytes})
    EXPECT_THAT(texts_of(file("{\"text\":\"a\"}\n\n \t\r\n\n  "), block), ElementsAre("a"))
        << block;
  const InputOptions options =
      lenient(file("{\"text\":\"a\"}\n\n\n{\"text\":\"b\"}\n\n{\"text\":\"c\"}\n\n\n"));
  EXPECT_THAT(
      rejections_of(options),
      ElementsAre("2: blank line: no text", "3: blank line: no text", "5: blank line: no text"));
  EXPECT_THAT(texts_of(options), ElementsAre("a", "b", "c"));
}

// The parser keeps what it looks at in memory, so it looks at 64 KiB only.
TEST_F(Jsonl, TheBlankEndOfAFileIsBounded) {
  const std::string row = "{\"text\":\"a\"}\n";
  EXPECT_THAT(texts_of(file(row + std::string(60'000, '\n'))), ElementsAre("a"));
  EXPECT_EQ(code_of(row + std::string(8'000'000, '\n')), "jsonl.blank");
}

// RFC 8259 allows every number; SQLite writes 9e999 for infinity, and Python reads it.
TEST_F(Jsonl, NumbersBeyondDoubleAreReadInOtherFields) {
  for (const std::string& number :
       std::vector<std::string>{"9e999", "1e400", "1000000000000000000e0", "-1e400", "1E+309",
                                "0.1e400", "17976931348623159e292", "1e99999999999999999999",
                                "1" + std::string(400, '0') + ".5", "[1e400,{\"a\":-1e999}]"}) {
    EXPECT_THAT(texts_of(file("{\"x\":" + number + ",\"text\":\"1e400\",\"y\":" + number + "}")),
                ElementsAre("1e400"))
        << number;
  }
  for (const std::string number : {"NaN", "Infinity", "-Infinity", "1e400x", "01e400", "+1e400",
                                   "1.e400", ".1e400", "1e400.5", "--1e400", "1e", "1e400 2"}) {
    EXPECT_EQ(code_of("{\"text\":\"a\",\"x\":" + number + "}"), "jsonl.syntax") << number;
  }
}

TEST_F(Jsonl, ANumberBeyondDoubleIsNoTokenIdAndNoText) {
  EXPECT_EQ(code_of(R"({"text":[7,1e400]})"), "jsonl.input_ids");
  EXPECT_EQ(code_of(R"({"text":1e400})"), "jsonl.type");
}

TEST_F(Jsonl, AFaultAfterANumberBeyondDoubleIsNamed) {
  const ErrorDetail error = error_of(file(R"({"x":1e400,"text":tru})"));
  EXPECT_EQ(error.code.name(), "jsonl.syntax");
  EXPECT_THAT(error.found, HasSubstr("at column 22"));
}

TEST_F(Jsonl, NestingIsBounded) {
  EXPECT_THAT(texts_of(file("{\"text\":\"a\",\"n\":" + nested(63) + "}")), ElementsAre("a"));
  EXPECT_EQ(code_of("{\"text\":\"a\",\"n\":" + nested(65) + "}"), "jsonl.depth");
  EXPECT_EQ(code_of(nested(500000)), "jsonl.depth");
}

TEST_F(Jsonl, LoneSurrogatesAreReplacedOrBad) {
  const InputOptions options = file(R"({"text":"a\ud800b\udc00\ud83d\ude00\\ud800"})");
  EXPECT_THAT(texts_of(options), ElementsAre("a\xEF\xBF\xBD"
                                             "b\xEF\xBF\xBD\xF0\x9F\x98\x80\\ud800"));
  EXPECT_EQ(scan_texts(options, {}).utf8_replaced, 1);
  InputOptions strict = options;
  strict.utf8 = Utf8Policy::kError;
  EXPECT_EQ(error_of(strict).code.name(), "text.utf8");
}

TEST_F(Jsonl, InvalidUtf8IsReplacedWhereverItStandsAndCountedInTheText) {
  const InputOptions options = file("{\"text\":\"a\xFF\"}\n{\"x\":\"\xFF\",\"text\":\"b\"}\n");
  EXPECT_THAT(texts_of(options), ElementsAre("a\xEF\xBF\xBD", "b"));
  EXPECT_EQ(scan_texts(options, {}).utf8_replaced, 1);
  InputOptions strict = options;
  strict.utf8 = Utf8Policy::kError;
  EXPECT_EQ(scan_texts(lenient(strict), {}).rejected, 2);
}

TEST_F(Jsonl, IntegersOfAnySizeMayStandBesideTheText) {
  EXPECT_THAT(
      texts_of(file(
          R"({"id":-340282366920938463463374607431768211455,"text":"1234567890123456789012","f":0.12345678901234567890123})")),
      ElementsAre("1234567890123456789012"));
}

TEST_F(Jsonl, ALongLineWithAShortTextIsReadAndAVeryLongOneIsBad) {
  const std::string other(2 << 20, 'x');
  EXPECT_THAT(texts_of(file("{\"o\":\"" + other + "\",\"text\":\"a\"}\n")), ElementsAre("a"));
  InputOptions options = lenient(
      file("{\"o\":\"" + other + "\",\"text\":\"a\"}\n{\"text\":\"b\"}\n{\"text\":\"cc\"}\n"));
  options.max_row_bytes = 1;
  EXPECT_THAT(rows_of(options), ElementsAre("line 2: b"));
  EXPECT_THAT(rejections_of(options), ElementsAre(HasSubstr("1: the line is too long"),
                                                  HasSubstr("3: the row is too long")));
}

}  // namespace
}  // namespace encode::testing
