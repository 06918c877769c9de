#include <algorithm>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reading.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Csv : public ::testing::Test {
 protected:
  InputOptions file(std::string_view content, std::string field = "text",
                    const std::string& name = "in.csv") {
    InputOptions options;
    options.path = dir_.write(name, content);
    options.field = std::move(field);
    return options;
  }
  TempDir dir_;
};

TEST_F(Csv, TakesTheColumnByName) {
  EXPECT_THAT(rows_of(file("id,text,x\n1,a,p\n2,b,q")), ElementsAre("line 2: a", "line 3: b"));
  EXPECT_THAT(rows_of(file("\xEF\xBB\xBFtext\r\na\r\nb\r\n")),
              ElementsAre("line 2: a", "line 3: b"));
  EXPECT_THAT(texts_of(file("\"the \"\"text\"\"\",b\nx,y\n", "the \"text\"")), ElementsAre("x"));
}

TEST_F(Csv, QuotedFieldsHoldDelimitersQuotesAndLineEnds) {
  EXPECT_THAT(
      rows_of(file("text,id\n\"a,b\",1\n\"say \"\"x\"\"\",2\n\"p\nq\r\nr\",3\n\"\",4\nend,5\n")),
      ElementsAre("line 2: a,b", "line 3: say \"x\"", "line 4: p\nq\r\nr",
                  "line 7: ", "line 8: end"));
}

// As a signed char this byte is -1, which stands for the end of a file. As an unsigned char, which
// `char` is on ARM, no byte is -1 (issue 30 of zpl-c/zpl).
TEST_F(Csv, TheByteFFIsNoEndOfTheFile) {
  for (const size_t block : {size_t{1}, RowReader::kBlockBytes}) {
    EXPECT_THAT(rows_of(lenient(file("\xFF,text\n\xFF,\xFF\n2,\"\xFF\"\n\xFF,b\n")), block),
                ElementsAre("line 2: \uFFFD", "line 3: \uFFFD", "line 4: b"));
  }
}

TEST_F(Csv, TsvIsTheSameWithTabs) {
  EXPECT_THAT(texts_of(file("id\ttext\n1\ta,b\n2\t\"c\td\"\n", "text", "in.tsv")),
              ElementsAre("a,b", "c\td"));
}

TEST_F(Csv, SemicolonsSeparateIfTheHeaderHasNoComma) {
  EXPECT_THAT(rows_of(file("id;text\n1;a,b\n2;\"c;d\"\n")),
              ElementsAre("line 2: a,b", "line 3: c;d"));
  EXPECT_THAT(texts_of(file("\xEF\xBB\xBF\"i,d\";\"text\"\r\n1;a\r\n")), ElementsAre("a"));
  for (const size_t block : {size_t{1}, size_t{5}, RowReader::kBlockBytes})
    EXPECT_THAT(rows_of(file("\"a\nb\";text\n1;x\n"), block), ElementsAre("line 3: x"));
  EXPECT_THAT(texts_of(file("text,a;b\n1;2,3\n")), ElementsAre("1;2"));
  EXPECT_THAT(texts_of(file("\"te;xt\"\n1;2\n", "te;xt")), ElementsAre("1;2"));
  EXPECT_EQ(error_of(file("id;body\n", "text")).found, "id, body");
  EXPECT_EQ(error_of(file("id;text\n", "text", "in.tsv")).found, "id;text");
}

// One rule for all delimiters: the first one of , ; tab | that the header has outside of quotes.
TEST_F(Csv, TheHeaderSaysWhatSeparatesTheFields) {
  for (const char delimiter : {',', ';', '\t', '|'}) {
    const auto table = [&](std::string content) {
      std::replace(content.begin(), content.end(), '#', delimiter);
      return file(content);
    };
    for (const size_t block : {size_t{1}, RowReader::kBlockBytes}) {
      EXPECT_THAT(rows_of(table("id#text\r\n1#a b\r\n2#\"c#d\"\r\n"), block),
                  ElementsAre("line 2: a b", std::string("line 3: c") + delimiter + "d"));
    }
    EXPECT_THAT(texts_of(table("\"a,;\t|b\"#\"text\"\n1#x\n")), ElementsAre("x"));
    EXPECT_EQ(error_of(table("id#body\n")).found, "id, body");
  }
  EXPECT_THAT(texts_of(file("text,a|b\n1|2,3\n")), ElementsAre("1|2"));
  EXPECT_THAT(texts_of(file("text;a|b\n1|2;3\n")), ElementsAre("1|2"));
  EXPECT_THAT(texts_of(file("text\ta|b\n1|2\t3\n")), ElementsAre("1|2"));
  EXPECT_EQ(error_of(file("id|text\n", "text", "in.tsv")).found, "id|text");
  EXPECT_THAT(error_of(file("id;text\n", "text", "in.tsv")).hint, HasSubstr("--format csv"));
  EXPECT_THAT(error_of(file("id:body\n")).hint, HasSubstr("the header has one column"));
}

TEST_F(Csv, CrIsPartOfALineEndOrText) {
  EXPECT_THAT(texts_of(file("id,text\r\n1,a\rb\r\n2,c\r\r\n3,\"d\r\"\r\n4,e\r")),
              ElementsAre("a\rb", "c\r", "d\r", "e\r"));
}

TEST_F(Csv, QuotesInTheWrongPlaceAreBadRows) {
  const InputOptions options =
      lenient(file("id,text\n1,a\"b\n2,\"a\"b\n3,\"a\"\"\n4,x\"\n5,\"a\" \n6,\"a\"\r,\n7,ok\n"));
  // The quote that opens on line 4 is closed on line 5.
  EXPECT_THAT(rows_of(options), ElementsAre("line 4: a\"\n4,x", "line 8: ok"));
  EXPECT_THAT(
      rejections_of(options),
      ElementsAre("2: a quote inside an unquoted field: a quote", HasSubstr("3: text after"),
                  HasSubstr("6: text after"), HasSubstr("7: text after")));
  EXPECT_EQ(error_of(file("text\na\"b\n")).code.name(), "csv.quote");
}

TEST_F(Csv, AnOpenQuoteIsAnErrorThatNamesItsLineUnderAnyPolicy) {
  const ErrorDetail error = error_of(lenient(file("id,text\n1,a\n2,\"b\n3,c\n4,d\n")));
  EXPECT_EQ(error.code.name(), "csv.quote");
  EXPECT_THAT(error.where, EndsWith("in.csv:3"));
  EXPECT_THAT(error_of(file("id,text\n\"1\n\n2\",\"b")).where, EndsWith("in.csv:4"));
}

TEST_F(Csv, AWrongNumberOfFieldsIsABadRow) {
  const InputOptions options = lenient(file("id,text\n1\n2,b\n3,c,\n\n4,d\n"));
  EXPECT_THAT(rows_of(options), ElementsAre("line 3: b", "line 6: d"));
  EXPECT_THAT(rejections_of(options),
              ElementsAre(HasSubstr("2: wrong number"), HasSubstr("4: wrong number"),
                          HasSubstr("5: wrong number")));
}

TEST_F(Csv, ABlankLineIsAnEmptyRowOfTheOnlyColumn) {
  EXPECT_THAT(texts_of(file("text\na\n\n\n")), ElementsAre("a", "", ""));
}

TEST_F(Csv, WithSeveralColumnsABlankLastLineIsNoRow) {
  EXPECT_THAT(texts_of(file("id,text\n1,a\n\r\n")), ElementsAre("a"));
  EXPECT_THAT(error_of(file("id,text\n1,a\n2\n")).found, "1 field");
  EXPECT_EQ(scan_texts(lenient(file("id,text\n1,a\n\n\n")), {}).rejected, 1);
  EXPECT_EQ(scan_texts(lenient(file("id,text\n1,a\n\"\"")), {}).rejected, 1);
}

TEST_F(Csv, AMissingColumnIsAnErrorWithTheColumnsAndTheNearest) {
  const ErrorDetail error = error_of(file("id,message,author\n", "mesage"));
  EXPECT_EQ(error.code.name(), "csv.column");
  EXPECT_EQ(error.exit_code, ExitCode::kConfig);
  EXPECT_EQ(error.found, "id, message, author");
  EXPECT_EQ(error.hint, "did you mean 'message'? (--field, or field in the config)");
  EXPECT_EQ(error_of(file("text,text\n")).code.name(), "csv.column");
  EXPECT_EQ(error_of(file("text\n", "")).code.name(), "csv.column");
  EXPECT_THAT(texts_of(file("text,id,id\n1,2,3\n")), ElementsAre("1"));
}

// A column is named by its number if the file has no header.
TEST_F(Csv, ANumberThatIsNoColumnGetsAHeaderOfNumbers) {
  const InputOptions options = file("1;hello\n2;there\n", "2", "no head.csv");
  const ErrorDetail error = error_of(options);
  EXPECT_EQ(error.code.name(), "csv.column");
  EXPECT_EQ(error.found, "1, hello");
  EXPECT_THAT(error.hint, ::testing::Not(HasSubstr("did you mean")));
  EXPECT_THAT(error.hint, HasSubstr("line 1 is read as the header"));
  const size_t begin = error.hint.find('`') + 1;
  ASSERT_EQ(std::system(error.hint.substr(begin, error.hint.find('`', begin) - begin).c_str()), 0);
  InputOptions corrected = options;
  corrected.path = dir_.file("no head.header.csv");
  EXPECT_THAT(texts_of(corrected), ElementsAre("hello", "there"));
  EXPECT_THAT(error_of(file("1," + std::string(30, ',') + "\n", "2")).hint,
              HasSubstr("a line with a name for each column"));
}

TEST_F(Csv, TheHeaderIsRequiredAndBounded) {
  EXPECT_EQ(error_of(file("")).code.name(), "csv.header");
  EXPECT_EQ(error_of(file("")).what, "the file is empty");
  EXPECT_EQ(error_of(file("text,a\"b\n")).code.name(), "csv.quote");
  const std::string columns(4095, ',');
  EXPECT_THAT(texts_of(file("text" + columns + "\n")), IsEmpty());
  EXPECT_EQ(error_of(file("text" + columns + ",\n")).code.name(), "csv.header");
  EXPECT_EQ(error_of(file("text," + std::string(2 << 20, 'x') + "\n")).code.name(), "csv.header");
}

TEST_F(Csv, ALongTextIsABadRowAndALongOtherFieldIsSkipped) {
  InputOptions options = lenient(
      file("id,text\n1,12345\n2,123456\n333333333333,\"1\"\"345\"\r\n4,123456\r\n5,12345\r\n"));
  options.max_row_bytes = 5;
  EXPECT_THAT(rows_of(options), ElementsAre("line 2: 12345", "line 4: 1\"345", "line 6: 12345"));
}

TEST_F(Csv, AFieldOver16MiBEndsTheRunUnderAnyPolicy) {
  const std::string field(size_t{16} << 20, 'x');
  EXPECT_THAT(texts_of(file("id,text\n" + field + ",a\n")), ElementsAre("a"));
  const ErrorDetail error = error_of(lenient(file("id,text\n1,\"x\n" + field + "\n" + field)));
  EXPECT_EQ(error.code.name(), "csv.field_limit");
  EXPECT_THAT(error.where, EndsWith("in.csv:2"));
  EXPECT_EQ(
      error_of(lenient(file("text\n" + field + "," + field + "," + field + "," + field + ",")))
          .code.name(),
      "text.record_limit");
}

}  // namespace
}  // namespace encode::testing
