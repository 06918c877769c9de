// Tests that a second pass over an input returns the fields of exactly the rows of the scan.
#include <filesystem>
#include <fmt/format.h>
#include <optional>
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
              ElementsAre("a|7|{\"y\":[1,\"b\"]}|[1,\"b\"]", "b|s\u00fc|-|-", "c|1.5|true|-",
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

// The texts are proven block by block, and the fields by the hash of the whole file.
TEST_F(Fields, OfAnotherFileAreRefused) {
  const auto options = input("a.jsonl", "{\"text\":\"a\",\"id\":1}\n");
  const InputScan scan = scan_texts(options, {});
  dir_.write("a.jsonl", "{\"text\":\"a\",\"id\":2}\n");
  const auto reader = open_scanned_fields(options, scan, {"id"});
  FieldRow row;
  EXPECT_TRUE(reader->next(row));
  const ErrorDetail error = refused([&] { reader->finish(); });
  EXPECT_EQ(error.code, "text.changed");
  EXPECT_EQ(error.exit_code, ExitCode::kIoError);
  EXPECT_THAT(error.expected, HasSubstr(scan.files[0].sha256));
  dir_.write("a.jsonl", "{\"text\":\"b\",\"id\":1}\n");
  const auto other = open_scanned_fields(options, scan, {"id"});
  EXPECT_EQ(refused([&] { other->next(row); }).code, "text.changed");
}

// A number that simdjson cannot hold would be another number in the table.
TEST_F(Fields, LargeIntegersAreRefusedAndLargeStringsAreNot) {
  const std::string digits(25, '7');
  const auto number = input("a.jsonl", "{\"text\":\"a\",\"id\":" + digits + "}\n");
  EXPECT_EQ(refused([&] { rows_of(number, {"id"}); }).code, "jsonl.number");
  const auto huge = input("d.jsonl", "{\"text\":\"a\",\"id\":1e400}\n");
  EXPECT_EQ(refused([&] { rows_of(huge, {"id"}); }).code, "jsonl.number");
  const auto text = input("b.jsonl", "{\"text\":\"a\",\"id\":\"" + digits + "\"}\n");
  EXPECT_THAT(rows_of(text, {"id"}), ElementsAre("a|" + digits));
  const auto twice = input("c.jsonl", "{\"text\":\"a\",\"id\":1,\"id\":2}\n");
  EXPECT_EQ(refused([&] { rows_of(twice, {"id"}); }).code, "jsonl.duplicate");
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
    return refused([&] { require_fields(options, scan, {field}); }).code;
  };
  constexpr const char* kFine = "(nothing thrown)";
  const auto jsonl = input("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\",\"id\":null}\n");
  EXPECT_EQ(code(jsonl, "id"), kFine);
  EXPECT_EQ(code(jsonl, "idd"), "output.column");
  EXPECT_EQ(code(jsonl, "/a~2"), "jsonl.pointer");
  auto csv = input("a.csv", "id,text\n1,x\n");
  EXPECT_EQ(code(csv, "id"), kFine);
  EXPECT_EQ(code(csv, "idd"), "csv.column");
  csv.more_paths = {dir_.write("b.csv", "text\nx\n")};
  EXPECT_EQ(code(csv, "id"), "csv.column") << "every file must have it";
  auto lines = input("a.txt", "x\n");
  lines.field = "";
  EXPECT_EQ(code(lines, "id"), "text.field");
}

}  // namespace
}  // namespace encode::testing
