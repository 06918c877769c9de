// Tests texts that are made from several fields, in the formats of text.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/text.h"

#include "base/refused.h"
#include "reading.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Template : public ::testing::Test {
 protected:
  InputOptions file(const std::string& name, const std::string& content,
                    const std::string& text_template) {
    InputOptions options;
    options.path = dir_.write(name, content);
    options.text_template = text_template;
    return options;
  }
  static InputOptions with_empty(InputOptions options) {
    options.missing_field = MissingFieldPolicy::kEmpty;
    return options;
  }
  TempDir dir_;
};

TEST_F(Template, TakesTheFieldsOfJsonl) {
  const auto options =
      file("a.jsonl",
           "{\"title\":\"A\",\"body\":{\"main\":\"b\\u00fc\",\"tags\":[\"x\",\"y\"]}}\n"
           "{\"body\":{\"tags\":[\"\"],\"main\":\"\"},\"title\":\"\"}\n",
           "{title}: {/body/main} #{/body/tags/0}");
  for (const size_t block : {size_t{1}, RowReader::kBlockBytes})
    EXPECT_THAT(rows_of(options, block), ElementsAre("line 1: A: b\u00fc #x", "line 2: :  #"));
}

// As in a column of an output: docs/outputs.md.
TEST_F(Template, WritesOtherValuesAsTheFileDoes) {
  const auto options =
      file("a.jsonl",
           "{\"a\":7,\"b\":true}\n{\"a\":1.50,\"b\":[1, {\"c\": null}]}\n"
           "{\"a\":-0,\"b\":1e400}\n{\"a\":123456789012345678901234567890,\"b\":{}}\n"
           "{\"a\":1E5,\"b\":\"x\\ud800\"}\n",
           "{a}|{b}");
  EXPECT_THAT(texts_of(options), ElementsAre("7|true", "1.50|[1,{\"c\":null}]", "-0|1e400",
                                             "123456789012345678901234567890|{}", "1E5|x\uFFFD"));
}

TEST_F(Template, TakesTheFieldsOfAJsonArray) {
  const std::string content = "[{\"a\":\"x\",\"b\":1},\n[\"y\",2],{\"a\":\"z\",\"b\":[]}]";
  EXPECT_THAT(texts_of(lenient(file("a.json", content, "{a}={b}"))), ElementsAre("x=1", "z=[]"));
  EXPECT_THAT(texts_of(lenient(file("b.json", content, "{/0}={/1}"))), ElementsAre("y=2"));
}

TEST_F(Template, TakesTheColumnsOfCsvAndTsv) {
  for (const size_t block : {size_t{1}, RowReader::kBlockBytes}) {
    EXPECT_THAT(rows_of(file("a.csv", "id,title,\"a b\",text\r\n1,T,\"p,\nq\",x\r\n2,,,\r\n",
                             "{a b}/{text}/{title}/{text}"),
                        block),
                ElementsAre("line 2: p,\nq/x/T/x", "line 4: ///"));
    EXPECT_THAT(rows_of(file("a.tsv", "id\ttext\n1\tx\n", "{text} {id}"), block),
                ElementsAre("line 2: x 1"));
  }
}

TEST_F(Template, WithOneFieldIsThatField) {
  auto options = file("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\"\\ud800\"}\n", "{text}");
  const std::vector<std::string> texts = texts_of(options);
  options.text_template.clear();
  options.field = "text";
  EXPECT_EQ(texts_of(options), texts);
}

TEST_F(Template, RefusesARowWithoutAField) {
  const auto options =
      file("a.jsonl", "{\"title\":\"A\",\"text\":\"b\"}\n{\"text\":\"c\"}\n", "{title}: {text}");
  const ErrorDetail error = error_of(options);
  EXPECT_EQ(error.code.name(), "jsonl.missing");
  EXPECT_EQ(error.where, options.path + ":2");
  EXPECT_THAT(error.what, HasSubstr("'title'"));
  EXPECT_THAT(error.hint, AllOf(HasSubstr("--missing-field empty"), HasSubstr("--bad-row reject")));
  EXPECT_THAT(texts_of(lenient(options)), ElementsAre("A: b"));
}

TEST_F(Template, RefusesANull) {
  const auto options =
      file("a.jsonl",
           "{\"title\":\"A\",\"body\":{\"main\":\"b\"}}\n"
           "{\"title\":\"A\",\"body\":{\"main\":null}}\n{\"title\":\"A\",\"body\":null}\n",
           "{title}: {/body/main}");
  const ErrorDetail error = error_of(options);
  EXPECT_EQ(error.where, options.path + ":2");
  EXPECT_THAT(error.what, HasSubstr("'/body/main' has no value"));
  EXPECT_EQ(error.found, "null");
  EXPECT_THAT(error.hint, HasSubstr("--missing-field empty"));
  EXPECT_THAT(texts_of(lenient(options)), ElementsAre("A: b"));
  EXPECT_THAT(texts_of(with_empty(options)), ElementsAre("A: b", "A: ", "A: "));
}

TEST_F(Template, LeavesMissingFieldsEmptyIfAsked) {
  const auto options =
      file("a.jsonl", "{\"a\":\"x\"}\n{\"b\":[\"y\"]}\n{}\n{\"a\":null,\"b\":[]}\n", "{a}|{/b/0}");
  EXPECT_THAT(texts_of(with_empty(options)), ElementsAre("x|", "|y", "|", "|"));
  EXPECT_EQ(scan_texts(with_empty(options), {}).rejected, 0);
  auto only = with_empty(file("b.jsonl", "{\"a\":\"x\"}\n{}\n", "{a}"));
  EXPECT_EQ(scan_texts(only, {}).empty, 1);
  only.empty_row = EmptyRowPolicy::kReject;
  EXPECT_THAT(texts_of(only), ElementsAre("x"));
}

// A missing field leaves the row readable, but a record of another shape is damage.
TEST_F(Template, RefusesRecordsOfAnotherShapeUnderBothPolicies) {
  const std::string content =
      "{\"a\":{\"b\":\"x\"}}\n\"text\"\nnull\n7\n{\"a\":\"x\"}\n{\"a\":[1]}\n{\"a\":{\"b\":1,\"b\":"
      "2}}\n"
      "{\"a\":\n";
  for (const auto& options :
       {file("a.jsonl", content, "{/a/b}"), with_empty(file("b.jsonl", content, "{/a/b}"))}) {
    EXPECT_THAT(texts_of(lenient(options)), ElementsAre("x"));
    EXPECT_EQ(rejections_of(lenient(options)).size(), 7U);
  }
}

TEST_F(Template, ProposesTheFieldThatAMisspelledNameIsMeantFor) {
  const std::string json = "{\"title\":\"A\",\"body\":{\"main\":\"b\"}}\n";
  EXPECT_THAT(error_of(file("a.jsonl", json, "{titel}")).hint, HasSubstr("did you mean 'title'?"));
  EXPECT_THAT(error_of(file("b.jsonl", json, "{title} {main}")).hint,
              HasSubstr("did you mean /body/main?"));
  const ErrorDetail column = error_of(file("a.csv", "title,text\nA,b\n", "{title}: {texts}"));
  EXPECT_EQ(column.code.name(), "csv.column");
  EXPECT_THAT(column.hint, AllOf(HasSubstr("did you mean 'text'?"), HasSubstr("--text")));
  // A column that the header does not have is no missing value.
  EXPECT_EQ(
      error_of(with_empty(file("b.csv", "title,text\nA,b\n", "{title}: {texts}"))).code.name(),
      "csv.column");
}

TEST_F(Template, FindsFieldsThatNoRowHas) {
  const auto unseen = [](const InputOptions& options) {
    return unseen_fields(options, scan_texts(options, {}));
  };
  const std::string json = "{\"title\":\"A\"}\n{\"text\":null}\n";
  EXPECT_THAT(unseen(with_empty(file("a.jsonl", json, "{title}{titel}{text}{/x/y}"))),
              ElementsAre("titel", "/x/y"));
  EXPECT_THAT(unseen(lenient(file("b.jsonl", json, "{title}{titel}"))), IsEmpty());
  EXPECT_THAT(unseen(with_empty(file("a.csv", "a,b\n1,\n", "{a}{b}"))), IsEmpty());
}

TEST_F(Template, RefusesBadPointersAndInputsOfLines) {
  EXPECT_EQ(error_of(file("a.jsonl", "{\"a\":1}\n", "{a}{/a~2}")).code.name(), "jsonl.pointer");
  EXPECT_EQ(error_of(file("a.txt", "a\n", "{a}")).code.name(), "text.field");
  EXPECT_EQ(error_of(file("b.jsonl", "{\"a\":1}\n", "{a")).code.name(), "config.value");
}

// The size of the record is bounded, but a template can repeat its fields.
TEST_F(Template, RefusesATextThatIsTooLong) {
  for (auto options : {file("a.jsonl", "{\"a\":\"12345\"}\n{\"a\":\"1\"}\n", "{a}{a}{a}"),
                       file("a.csv", "a,b\n12345,\n1,\n", "{a}{a}{a}")}) {
    options.max_row_bytes = 15;
    EXPECT_THAT(texts_of(options), ElementsAre("123451234512345", "111"));
    options.max_row_bytes = 14;
    EXPECT_EQ(error_of(options).code.name(), "text.too_long");
    EXPECT_THAT(texts_of(lenient(options)), ElementsAre("111"));
  }
}

TEST_F(Template, RepairsInvalidUtf8OfAnyField) {
  auto options = file("a.csv", "a,b\nx,\xFF\ny,z\n", "{a}{b}");
  EXPECT_THAT(texts_of(options), ElementsAre("x\uFFFD", "yz"));
  EXPECT_EQ(scan_texts(options, {}).utf8_replaced, 1);
  options.utf8 = Utf8Policy::kError;
  EXPECT_EQ(error_of(options).code.name(), "text.utf8");
}

TEST_F(Template, TheHashesOfTheRowsAreThoseOfTheTexts) {
  const std::string json = "{\"a\":\"x\",\"b\":\"y\"}\n";
  const auto hash = [](const InputOptions& options) {
    return scan_texts(options, {}).checkpoints.front().xxh3_128;
  };
  const auto both = hash(file("a.jsonl", json, "{a}{b}"));
  EXPECT_EQ(hash(file("b.csv", "text\nxy\n", "{text}")), both);
  EXPECT_NE(hash(file("c.jsonl", json, "{b}{a}")), both);
}

TEST_F(Template, OtherFieldsOfTheRowsCanBeRead) {
  const auto options = file("a.jsonl", "{\"a\":\"x\",\"id\":1}\n{\"a\":\"y\",\"id\":2}\n", "<{a}>");
  const InputScan scan = scan_texts(options, {});
  const auto reader = open_scanned_fields(options, scan, {"id"});
  std::vector<std::string> rows;
  for (FieldRow row; reader->next(row);) rows.push_back(*row.text + *row.fields.front());
  EXPECT_THAT(rows, ElementsAre("<x>1", "<y>2"));
  EXPECT_EQ(list_fields(options), "a, id");
}

}  // namespace
}  // namespace encode::testing
