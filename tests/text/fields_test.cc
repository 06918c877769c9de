// Tests that a second pass over an input returns the fields of exactly the rows of the scan.
#include <fmt/format.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/text.h"

#include "base/refused.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Fields : public ::testing::Test {
 protected:
  InputOptions input(const std::string& name, const std::string& content) {
    InputOptions options;
    options.path = dir_.write(name, content);
    options.field = "text";
    options.bad_row = BadRowPolicy::kReject;
    return options;
  }
  // Returns "text|field|field" for each row; "-" stands for no value.
  static std::vector<std::string> rows_of(const InputOptions& options,
                                          const std::vector<std::string>& fields) {
    const InputScan scan = scan_texts(options, {});
    const auto reader = open_scanned_fields(options, scan, fields);
    std::vector<std::string> rows;
    for (FieldRow row; reader->next(row);) {
      std::string line = row.text.value_or("-");
      for (const auto& field : row.fields) line += "|" + field.value_or("-");
      rows.push_back(line);
    }
    reader->finish();
    return rows;
  }
  TempDir dir_;
};

TEST_F(Fields, OfJsonlAreStringsAsTheyAreAndOtherValuesAsJson) {
  const auto options = input("a.jsonl",
                             "{\"text\":\"a\",\"id\":7,\"x\":{\"y\":[1,\"b\"]}}\n"
                             "{\"text\":5}\n"  // a bad row
                             "{\"id\":\"s\\u00fc\",\"text\":\"b\",\"x\":null}\n"
                             "{\"text\":\"c\",\"id\":1.50,\"x\":true}\n"
                             "{\"text\":[1,2],\"id\":9007199254740993}\n");
  EXPECT_THAT(rows_of(options, {"id", "x", "/x/y"}),
              ElementsAre("a|7|{\"y\":[1,\"b\"]}|[1,\"b\"]", "b|s\u00fc|-|-", "c|1.50|true|-",
                          "-|9007199254740993|-|-"));
  EXPECT_THAT(rows_of(options, {}), ElementsAre("a", "b", "c", "-"));
}

TEST_F(Fields, OfCsvAreColumns) {
  const auto options = input("a.csv",
                             "id,text,\"a b\"\n1,x,\"p,\nq\"\n"
                             "2,y\n"  // a bad row
                             "3,z,\n");
  EXPECT_THAT(rows_of(options, {"a b", "id", "text"}), ElementsAre("x|p,\nq|1|x", "z||3|z"));
}

TEST_F(Fields, FollowTheRowsThroughSeveralFiles) {
  auto options = input("a.jsonl", "{\"text\":\"a\",\"id\":1}\n");
  options.more_paths = {dir_.write("b.jsonl", ""), dir_.write("c.jsonl", "{\"id\":2}\n"),
                        dir_.write("d.jsonl", "{\"text\":\"d\",\"id\":3}\n"), options.path};
  EXPECT_THAT(rows_of(options, {"id"}), ElementsAre("a|1", "d|3", "a|1"));
  options.limit_rows = 2;
  EXPECT_THAT(rows_of(options, {"id"}), ElementsAre("a|1", "d|3"));
}

TEST_F(Fields, OfManyBlocksAreInOrder) {
  std::string lines;
  for (int row = 0; row < 5000; ++row)
    lines += fmt::format("{{\"id\":{},\"text\":\"t{}\"}}\n", row, row);
  const std::vector<std::string> rows = rows_of(input("a.jsonl", lines), {"id"});
  ASSERT_EQ(rows.size(), 5000U);
  EXPECT_EQ(rows[4321], "t4321|4321");
}

// The texts are compared block by block, and the fields by the hash of the whole file.
TEST_F(Fields, OfAnotherFileAreRefused) {
  const auto options = input("a.jsonl", "{\"text\":\"a\",\"id\":1}\n");
  const InputScan scan = scan_texts(options, {});
  dir_.write("a.jsonl", "{\"text\":\"a\",\"id\":2}\n");
  const auto reader = open_scanned_fields(options, scan, {"id"});
  FieldRow row;
  EXPECT_TRUE(reader->next(row));
  const ErrorDetail error = refused([&] { reader->finish(); });
  EXPECT_EQ(error.code.name(), "text.changed");
  EXPECT_EQ(error.exit_code, ExitCode::kIoError);
  EXPECT_THAT(error.expected, HasSubstr(scan.files[0].sha256));
  dir_.write("a.jsonl", "{\"text\":\"b\",\"id\":1}\n");
  const auto other = open_scanned_fields(options, scan, {"id"});
  EXPECT_EQ(refused([&] { other->next(row); }).code.name(), "text.changed");
}

// No number may become another one in the table, whatever the parser can hold.
TEST_F(Fields, NumbersKeepAllTheirDigits) {
  for (const std::string& number :
       std::vector<std::string>{"123456789012345678", "1234567890123456789", "9223372036854775808",
                                "18446744073709551615", "18446744073709551616",
                                "-9223372036854775809", std::string(400, '7'), "1e400", "-1E-999",
                                "1.50", "-0", "0.1000000000000000055511151", "1e0"}) {
    for (const std::string& beside : std::vector<std::string>{"1", std::string(30, '9'), "9e999"}) {
      const std::string record = "{\"text\":\"a\",\"id\": " + number + " ,\"b\":" + beside +
                                 ",\"l\":[ " + number + ", {\"k\" : \" \\ud800\"}]}";
      const std::string row = "a|" + number + "|[" + number;
      EXPECT_THAT(rows_of(input("a.jsonl", record + "\n"), {"id", "/l"}),
                  ElementsAre(StartsWith(row)))
          << record;
      EXPECT_THAT(rows_of(input("a.json", "[" + record + "]"), {"id", "/l"}),
                  ElementsAre(StartsWith(row)))
          << record;
      EXPECT_THAT(rows_of(input("a.jsonl", record + "\n"), {"/l/0"}), ElementsAre("a|" + number));
    }
  }
  const std::string digits(25, '7');
  const auto text = input("b.jsonl", "{\"text\":\"a\",\"id\":\"" + digits + "\"}\n");
  EXPECT_THAT(rows_of(text, {"id"}), ElementsAre("a|" + digits));
}

TEST_F(Fields, OfAnEscapedNameAreFound) {
  const auto options = input("a.jsonl", R"({"te\u0078t":"a","\u0069d":7,"x":1e999})"
                                        "\n");
  EXPECT_THAT(rows_of(options, {"id"}), ElementsAre("a|7"));
}

TEST_F(Fields, OfJsonArraysAreThoseOfJsonl) {
  const auto options = input("a.json",
                             "[{\"text\":\"a\",\"id\":7,\"x\":{\"y\": [1, \"b c\"]}},\n"
                             "{\"text\":5},"  // a bad row
                             "{\"id\":\"s\\u00fc\",\"text\":\"b\",\"x\":null}]\n");
  EXPECT_THAT(rows_of(options, {"id", "x", "/x/y"}),
              ElementsAre("a|7|{\"y\":[1,\"b c\"]}|[1,\"b c\"]", "b|s\u00fc|-|-"));
  auto texts = input("b.json", R"(["a","b"])");
  texts.field = "";
  EXPECT_THAT(rows_of(texts, {"id"}), ElementsAre("a|-", "b|-"));
}

TEST_F(Fields, AreOnceInTheirRecord) {
  const auto twice = input("c.jsonl", "{\"text\":\"a\",\"id\":1,\"id\":2}\n");
  EXPECT_EQ(refused([&] { rows_of(twice, {"id"}); }).code.name(), "jsonl.duplicate");
}

TEST_F(Fields, AreListedForAUserWhoHasNamedNone) {
  EXPECT_EQ(list_fields(input("a.jsonl", "{\"id\":1,\"doc\":{\"body\":\"a\"}}\n")), "id, doc");
  EXPECT_EQ(list_fields(input("a.csv", "id,text\n1,x\n")), "id, text");
  for (const char* bytes : {"", "{", "[1]\n", "\n"})
    EXPECT_THAT(list_fields(input("b.jsonl", bytes)), ::testing::Not(HasSubstr("\x1f"))) << bytes;
  EXPECT_EQ(list_fields(input("b.csv", "")), "");
  EXPECT_EQ(list_fields(input("c.txt", "a\n")), "");
  InputOptions absent;
  absent.path = dir_.file("absent.jsonl");
  EXPECT_EQ(list_fields(absent), "");
  absent.path = "-";
  EXPECT_EQ(list_fields(absent), "");
}

TEST_F(Fields, AreRequiredBeforeTheRun) {
  const auto code = [](const InputOptions& options, const std::string& field) {
    const InputScan scan = scan_texts(options, {});
    return std::string(refused([&] { require_fields(options, scan, {field}); }).code.name());
  };
  constexpr const char* kFine = "";  // nothing is thrown
  const auto jsonl = input("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\",\"id\":null}\n");
  EXPECT_EQ(code(jsonl, "id"), kFine);
  EXPECT_EQ(code(jsonl, "idd"), "output.column");
  EXPECT_EQ(code(jsonl, "/a~2"), "jsonl.pointer");
  const auto json = input("a.json", R"([{"text":"a"},{"text":"b","id":null}])");
  EXPECT_EQ(code(json, "id"), kFine);
  EXPECT_EQ(code(json, "idd"), "output.column");
  auto csv = input("a.csv", "id,text\n1,x\n");
  EXPECT_EQ(code(csv, "id"), kFine);
  EXPECT_EQ(code(csv, "idd"), "csv.column");
  const ErrorDetail error = refused([&] { require_fields(csv, scan_texts(csv, {}), {"idd"}); });
  EXPECT_THAT(error.hint, HasSubstr("(--columns, or output.columns in the config)"));
  EXPECT_THAT(error.hint, ::testing::Not(HasSubstr("--field")));
  csv.more_paths = {dir_.write("b.csv", "text\nx\n")};
  EXPECT_EQ(code(csv, "id"), "csv.column") << "every file must have it";
  auto lines = input("a.txt", "x\n");
  lines.field = "";
  EXPECT_EQ(code(lines, "id"), "text.field");
}

}  // namespace
}  // namespace encode::testing
