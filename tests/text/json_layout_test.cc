// Tests which files of JSON are refused as JSONL.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reading.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JsonLayout : public ::testing::Test {
 protected:
  InputOptions file(std::string_view content) {
    InputOptions options;
    options.path = dir_.write("in.jsonl", content);
    options.field = "text";
    return options;
  }
  TempDir dir_;
};

// Every line of such a file would be a bad row, so the policy for bad rows does not matter.
TEST_F(JsonLayout, OneArrayIsRefusedWithItsFormat) {
  for (const char* array :
       {"[{\"text\":\"a\"}, {\"text\":\"b\"}]\n", "[\n{\"text\":\"a\"},\n{\"text\":\"b\"}\n]\n",
        "[{\"text\":\"a\"},\n{\"text\":\"b\"}]", "\xEF\xBB\xBF [\"a\",\n\"b\"]", "[[1,2],\n[3]]"}) {
    for (const InputOptions& options : {file(array), lenient(file(array))}) {
      const ErrorDetail error = error_of(options);
      EXPECT_EQ(error.code.name(), "text.format") << array;
      EXPECT_EQ(error.what, "the file is a JSON array, not JSONL");
      EXPECT_THAT(error.hint, HasSubstr("--format json"));
    }
  }
  // Only the beginning is looked at.
  std::string many = "[";
  for (int i = 0; i < 40'000; ++i) many += "{\"text\":\"abc\"},\n";
  EXPECT_EQ(error_of(file(many)).code.name(), "text.format");
}

TEST_F(JsonLayout, DocumentsOverSeveralLinesAreRefused) {
  const std::string object = "{\n  \"text\": \"a\"\n}\n";
  std::string many;
  while (many.size() < 200'000) many += object;
  for (const std::string& lines :
       {object, object + object, many, std::string("[\n1\n]\n[\n2\n]\n")}) {
    const ErrorDetail error = error_of(lenient(file(lines)));
    EXPECT_EQ(error.code.name(), "text.format");
    EXPECT_THAT(error.what, HasSubstr("over several lines"));
    EXPECT_THAT(error.where, ::testing::EndsWith("in.jsonl:1"));
    EXPECT_THAT(error.hint, HasSubstr("jq -c"));
  }
}

// A bad first line hides no other layout.
TEST_F(JsonLayout, ABadFirstLineAloneIsABadRow) {
  for (const char* first :
       {"{\"text\":\"a\"", "{\"text\":\"a\",", "[", "[1,", "{", "{\"text\":\"a\"} x"}) {
    const std::string lines = std::string(first) + "\n{\"text\":\"b\"}\n{\"text\":\"c\"}\n";
    EXPECT_THAT(texts_of(lenient(file(lines))), ElementsAre("b", "c")) << first;
  }
  InputOptions entries = file("[\"a\",\"b\"]\n");
  entries.field = "/1";
  EXPECT_THAT(texts_of(entries), ElementsAre("b")) << "one row whose document is an array";
}

}  // namespace
}  // namespace encode::testing
