#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/host.h"
#include "one_file.h"
#include "reading.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JsonArray : public OneFile {
 protected:
  JsonArray() : OneFile("in.json") {}
};

TEST_F(JsonArray, OfObjectsHasARowForEachElement) {
  for (const size_t block : {size_t{1}, size_t{5}, RowReader::kBlockBytes})
    EXPECT_THAT(rows_of(file(" [ {\"id\":1,\"text\":\"a\"},\r\n{\"text\":\"b],{\\\"\\n\\u00e9\",\n"
                             "\"x\":[{\"text\":\"no\"},\"]\"]}\t]\n \n"),
                        block),
                ElementsAre("line 1: a", "line 2: b],{\"\n\xC3\xA9"));
  EXPECT_THAT(texts_of(file(R"([{"a":{"b":["x","y"]}}])", "/a/b/1")), ElementsAre("y"));
}

TEST_F(JsonArray, OfStringsNeedsNoField) {
  EXPECT_THAT(rows_of(file(R"(["a", "b, [c", "", "\\"])", "")),
              ElementsAre("line 1: a", "line 2: b, [c", "line 3: ", "line 4: \\"));
  const InputOptions ids = file("[[1,2],[3]]", "");
  EXPECT_EQ(scan_texts(ids, {}).tokenized, 2);
}

TEST_F(JsonArray, WithoutElementsHasNoRows) {
  EXPECT_THAT(texts_of(file("[]")), IsEmpty());
  EXPECT_THAT(texts_of(file(" [ \n ] \n")), IsEmpty());
}

TEST_F(JsonArray, MayBeCompressedAndHaveAByteOrderMark) {
  InputOptions options = file("");
  options.path = dir_.write("in.json.gz", gzip("\xEF\xBB\xBF[{\"text\":\"a\"}]"));
  EXPECT_THAT(texts_of(options), ElementsAre("a"));
  options.path = dir_.write("in.json.zst", zstd("[{\"text\":\"b\"}]"));
  EXPECT_THAT(texts_of(options), ElementsAre("b"));
}

TEST_F(JsonArray, AnElementThatIsNoRowIsABadRowWithItsNumber) {
  const InputOptions options = lenient(file(
      R"([{"text":"a"}, {"txt":"b"}, null, tru, {"text":1}, {"text":"c",}, "s", {"text":"d"}])"));
  EXPECT_THAT(rows_of(options), ElementsAre("line 1: a", "line 8: d"));
  EXPECT_THAT(rejections_of(options),
              ElementsAre(HasSubstr("2: the field 'text' is missing"),
                          HasSubstr("3: the field 'text' is missing: no such entry in null"),
                          HasSubstr("4: the element is not a JSON document: the end of the text"),
                          HasSubstr("5: the field 'text' is not text: a number"),
                          HasSubstr("6: the element is not a JSON document: unexpected text: }"),
                          HasSubstr("7: the field 'text' is missing: no such entry in a string")));
  const ErrorDetail error = error_of(file(R"([{"text":"a"},{"text":1}])"));
  EXPECT_EQ(error.code.name(), "jsonl.type");
  EXPECT_THAT(error.where, EndsWith("in.json:2"));
}

TEST_F(JsonArray, OfObjectsWithoutAFieldSaysThatAFieldIsMissing) {
  const ErrorDetail error = error_of(file(R"([{"text":"a"}])", ""));
  EXPECT_EQ(error.code.name(), "jsonl.type");
  EXPECT_EQ(error.what, "the element is not text");
  EXPECT_EQ(error.expected, "a string, an array of token ids, or a field of the objects");
  EXPECT_EQ(error.found, "an object with text");
  EXPECT_EQ(error.hint,
            "name the field that holds the text, as in --field text; fields with text: text");
}

TEST_F(JsonArray, OfObjectsWithoutAFieldNamesTheFieldsWithText) {
  const InputOptions options =
      file(R"([{"id":1,"text":"a","doc":{"body":"b"}},{"id":2,"text":"c"}])", "");
  EXPECT_EQ(error_of(options).hint,
            "name the field that holds the text, as in --field text; fields with text: text, "
            "/doc/body");
  // The hint names what is accepted.
  InputOptions named = options;
  named.field = "text";
  EXPECT_THAT(texts_of(named), ElementsAre("a", "c"));
}

// A damaged structure hides where the next row begins, so no policy goes on after it: not one row
// may be lost silently.
TEST_F(JsonArray, ABrokenStructureIsAnErrorUnderEveryPolicy) {
  struct Case {
    std::string bytes, element, what, found;
  };
  const std::string broken = "the JSON array is broken";
  for (const Case& one : {
           Case{"", "1", "the file is empty", "the end of the file, at byte 0"},
           {"  ", "1", "the file is empty", "the end of the file, at byte 2"},
           {"{\"text\":\"a\"}\n", "1", "the file is not a JSON array",
            "'{\"text\":\"a\"}', at byte 0"},
           {"\"a\"", "1", "the file is not a JSON array", "'\"a\"', at byte 0"},
           {"[", "1", broken, "the end of the file, at byte 1"},
           {"[,", "1", broken, "',', at byte 1"},
           {R"([{"text":"a"})", "1", "the file ends inside the JSON array",
            "the end of the file, at byte 13"},
           {R"([{"text":"a"},)", "2", broken, "the end of the file, at byte 14"},
           {R"([{"text":"a"},])", "2", broken, "']', at byte 14"},
           {R"([{"text":"a"},,{"text":"b"}])", "2", broken, "',{\"text\":\"b\"', at byte 14"},
           {R"([{"text":"a"},{"text")", "2", "the file ends inside the JSON array",
            "the end of the file, at byte 21"},
           {R"([{"text":"a)", "1", "the file ends inside the JSON array",
            "the end of the file, at byte 11"},
           {"[{\"text\":\"a\"}\n{\"text\":\"b\"}]", "1", broken, "'{\"text\":\"b\"}', at byte 14"},
           {R"([{"text":"a"]},{"text":"b"}])", "1", broken, "'},{\"text\":\"b', at byte 13"},
           {"[1}]", "1", broken, "'}]', at byte 2"},
           {R"(["a"] x)", "2", "text follows the JSON array", "'x', at byte 6"},
           {R"(["a"]["b"])", "2", "text follows the JSON array", "'[\"b\"]', at byte 5"},
           {std::string("[\"a\"]\0", 6), "2", "text follows the JSON array", "'\\x00', at byte 5"},
       }) {
    for (const InputOptions& options : {file(one.bytes), lenient(file(one.bytes))}) {
      if (options.bad_row == BadRowPolicy::kError && one.bytes.starts_with("[\"")) continue;
      const ErrorDetail error = error_of(options);
      EXPECT_EQ(error.code.name(), "json.array") << one.bytes;
      EXPECT_EQ(error.exit_code, ExitCode::kData);
      EXPECT_EQ(error.what, one.what) << one.bytes;
      EXPECT_EQ(error.found, one.found) << one.bytes;
      EXPECT_THAT(error.where, EndsWith("in.json:" + one.element)) << one.bytes;
    }
  }
}

TEST_F(JsonArray, JsonLinesInAFileOfThisNameAreSaidToBeJsonLines) {
  const ErrorDetail error = error_of(file("{\"text\":\"a\"}\n{\"text\":\"b\"}\n"));
  EXPECT_THAT(error.hint, HasSubstr("set the format to jsonl"));
}

TEST_F(JsonArray, NestingIsBounded) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + "1" + std::string(depth, ']');
  };
  EXPECT_THAT(texts_of(file("[{\"text\":\"a\",\"n\":" + nested(63) + "}]")), ElementsAre("a"));
  EXPECT_EQ(code_of("[{\"text\":\"a\",\"n\":" + nested(65) + "}]"), "jsonl.depth");
  EXPECT_EQ(code_of(nested(500'000)), "jsonl.depth");
  EXPECT_EQ(code_of(std::string(500'000, '[')), "json.array");
}

TEST_F(JsonArray, ALongElementIsABadRowAndAnEndlessOneAnError) {
  InputOptions options = lenient(file("[\"" + std::string(2 << 20, 'x') + "\", \"b\" , [" +
                                          std::string(2 << 20, ' ') + "], \"cc\"]",
                                      ""));
  options.max_row_bytes = 1;
  EXPECT_THAT(rows_of(options), ElementsAre("line 2: b"));
  EXPECT_THAT(rejections_of(options), ElementsAre(HasSubstr("1: the element is too long"),
                                                  HasSubstr("3: the element is too long"),
                                                  HasSubstr("4: the row is too long")));
  EXPECT_EQ(code_of("[\"" + std::string((64 << 20) + 1, 'x') + "\"]"), "text.record_limit");
}

TEST_F(JsonArray, MemoryDoesNotGrowWithTheFile) {
  std::string rows;
  while (rows.size() < (size_t{8} << 20)) rows += "{\"text\":\"a short row of text\"},\n";
  const std::string member = gzip(rows);
  std::string compressed = gzip("[");
  for (int i = 0; i < 8; ++i) compressed += member;
  InputOptions options = file("");
  options.path = dir_.write("in.json.gz", compressed + gzip("{\"text\":\"last\"}]"));
  scan_in_blocks(options, RowReader::kBlockBytes);
  const int64_t before = peak_resident_bytes();
  EXPECT_GT(scan_texts(options, {}).rows, 1'500'000);
  EXPECT_LT(peak_resident_bytes() - before, int64_t{8} << 20);
}

}  // namespace
}  // namespace encode::testing
