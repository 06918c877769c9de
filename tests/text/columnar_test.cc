// Tests of Parquet and Arrow IPC files as inputs.
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arrow_files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/refused.h"
#include "reading.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns an array of values of one type.
template <typename Builder>
std::shared_ptr<arrow::Array> array_of(const std::vector<typename Builder::value_type>& values) {
  Builder builder;
  for (const auto value : values) EXPECT_TRUE(builder.Append(value).ok());
  return builder.Finish().ValueOrDie();
}

class Columnar : public ::testing::TestWithParam<Container> {
 protected:
  InputOptions input(const std::shared_ptr<arrow::Array>& column, const Writing& writing = {}) {
    return file(file_of(*table_of(column), GetParam(), writing));
  }
  InputOptions file(const std::string& bytes) {
    InputOptions options;
    options.path = dir_.write(fmt::format("in{}{}", ++files_, suffix_of(GetParam())), bytes);
    options.field = "text";
    return options;
  }
  static std::vector<std::string> ids_of(const InputOptions& options) {
    const auto reader = open_texts(options);
    std::vector<std::string> rows;
    for (Text text; reader->next(text);) {
      EXPECT_TRUE(text.tokenized);
      std::string row;
      for (const int32_t id : text.input_ids) row += fmt::format("{} ", id);
      rows.push_back(row);
    }
    return rows;
  }
  TempDir dir_;
  int files_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Containers, Columnar, kContainers, container_name);

TEST_P(Columnar, ReadsStringsOfEveryKind) {
  const Texts texts = {"a", "", "ü\n\"", std::string("\0b", 2), std::string(5000, 'x')};
  const std::vector<std::string> expected = {"a", "", "ü\n\"", std::string("\0b", 2),
                                             std::string(5000, 'x')};
  for (const bool compressed : {true, false}) {
    const Writing writing = {.group_rows = 2, .compressed = compressed, .checksums = false};
    EXPECT_EQ(texts_of(input(text_array(texts, arrow::utf8()), writing)), expected);
    EXPECT_EQ(texts_of(input(text_array(texts, arrow::large_utf8()), writing)), expected);
    EXPECT_EQ(texts_of(input(text_array(texts, arrow::utf8_view()), writing)), expected);
    const auto dictionary = text_array({"x", "yy"}, arrow::utf8());
    EXPECT_THAT(texts_of(input(dictionary_array({1, 0, 0, 1}, dictionary), writing)),
                ElementsAre("yy", "x", "x", "yy"));
  }
}

TEST_P(Columnar, ReadsListsOfIntegersAsTokenIds) {
  const IdRows rows = {{5, 6, 7}, {0, 1, 127}, {9, 8, 7}};
  const std::vector<std::string> expected = {"5 6 7 ", "0 1 127 ", "9 8 7 "};
  for (const auto& type : {arrow::int8(), arrow::uint8(), arrow::int16(), arrow::uint16(),
                           arrow::int32(), arrow::uint32(), arrow::int64(), arrow::uint64()})
    EXPECT_EQ(ids_of(input(ids_array(rows, arrow::list(type)))), expected) << type->ToString();
  EXPECT_EQ(ids_of(input(ids_array(rows, arrow::large_list(arrow::int32())))), expected);
  EXPECT_EQ(ids_of(input(ids_array(rows, arrow::fixed_size_list(arrow::int32(), 3)))), expected);
  EXPECT_THAT(ids_of(input(ids_array({{}, {3}}, arrow::list(arrow::int64())))),
              ElementsAre("", "3 "));
}

TEST_P(Columnar, NullsAndForeignIdsAreBadRows) {
  const InputOptions nulls = input(text_array({"a", std::nullopt, "b"}, arrow::utf8()));
  EXPECT_EQ(error_of(nulls).code.name(), "arrow.null");
  EXPECT_EQ(error_of(nulls).where, nulls.path + ":2");
  EXPECT_THAT(texts_of(lenient(nulls)), ElementsAre("a", "b"));
  EXPECT_THAT(rejections_of(lenient(nulls)), ElementsAre(HasSubstr("2: the column 'text'")));
  // A null can be a row without index, or (not in Parquet) the index of a null.
  const bool parquet = GetParam() == Container::kParquet;
  const auto dictionary =
      text_array({"x", parquet ? std::optional("y") : std::nullopt}, arrow::utf8());
  EXPECT_THAT(texts_of(lenient(input(dictionary_array({0, -1, 1}, dictionary)))),
              ::testing::ElementsAreArray(parquet ? std::vector<std::string>{"x", "y"}
                                                  : std::vector<std::string>{"x"}));
  const IdRows rows = {{1}, {2, -1}, {3, int64_t{1} << 31}, {4, std::nullopt}};
  const InputOptions foreign = input(ids_array(rows, arrow::list(arrow::int64())));
  EXPECT_EQ(error_of(foreign).code.name(), "arrow.input_ids");
  EXPECT_THAT(rejections_of(lenient(foreign)),
              ElementsAre(HasSubstr("-1 as entry 1"), HasSubstr("2147483648 as entry 1"),
                          HasSubstr("null as entry 1")));
}

TEST_P(Columnar, RowPoliciesApply) {
  const InputOptions options =
      input(text_array({"a\xFFz", "", std::string(20, 'x')}, arrow::utf8()));
  InputOptions strict = lenient(options);
  strict.utf8 = Utf8Policy::kError;
  strict.empty_row = EmptyRowPolicy::kReject;
  strict.max_row_bytes = 10;
  EXPECT_EQ(rejections_of(strict).size(), 3U);
  EXPECT_EQ(texts_of(options)[0], "a\xEF\xBF\xBDz");
  EXPECT_EQ(scan_texts(options, {}).utf8_replaced, 1);
}

TEST_P(Columnar, RefusesOtherColumns) {
  InputOptions options = input(text_array({"a"}, arrow::utf8()));
  options.field = "txt";
  const ErrorDetail missing = error_of(options);
  EXPECT_EQ(missing.code.name(), "arrow.column");
  EXPECT_EQ(missing.exit_code, ExitCode::kConfig);
  EXPECT_EQ(missing.found, "id, text, other");
  options.field = "id";
  const ErrorDetail number = error_of(options);
  EXPECT_EQ(number.code.name(), "arrow.type");
  EXPECT_EQ(
      number.hint,
      "choose text, other, or cast it to string when you write the file (--field, or field in "
      "the config)");
  const auto nested = arrow::list(arrow::list(arrow::int32()));
  const auto refused_type = [&](const std::shared_ptr<arrow::DataType>& type) {
    const auto column = arrow::MakeEmptyArray(type).ValueOrDie();
    EXPECT_EQ(error_of(input(column)).code.name(), "arrow.type") << type->ToString();
  };
  refused_type(nested);
  refused_type(arrow::struct_({arrow::field("a", arrow::utf8())}));
  refused_type(arrow::list(arrow::utf8()));
  refused_type(arrow::list(arrow::float32()));
  refused_type(arrow::binary());
  const auto table = arrow::Table::Make(
      arrow::schema({arrow::field("text", arrow::utf8()), arrow::field("text", arrow::utf8())}),
      {text_array({"a"}, arrow::utf8()), text_array({"b"}, arrow::utf8())});
  const ErrorDetail twice = error_of(file(file_of(*table, GetParam())));
  EXPECT_EQ(twice.code.name(), "arrow.column");
  EXPECT_THAT(twice.what, HasSubstr("several"));
}

Texts numbered(int64_t rows) {
  Texts texts;
  for (int64_t row = 0; row < rows; ++row) texts.emplace_back(fmt::format("row {}", row));
  return texts;
}

TEST_P(Columnar, EveryRowCanBeSought) {
  constexpr int64_t kRows = 5000;
  const InputOptions options = input(text_array(numbered(kRows), arrow::utf8()),
                                     {.group_rows = 1700, .compressed = true, .checksums = false});
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(scan.rows, kRows);
  EXPECT_EQ(scan.files[0].sha256, sha256_hex(read_bytes(options.path)));
  const auto reader = open_scanned_texts(options, scan);
  Text text;
  for (const int64_t row : {4999, 0, 1699, 1700, 1701, 3399, 3400, 1, 2500, 4999, 4000}) {
    reader->seek(row);
    ASSERT_TRUE(reader->next(text));
    EXPECT_EQ(text.utf8, fmt::format("row {}", row));
    EXPECT_EQ(text.line, row + 1);
  }
  reader->seek(kRows);
  EXPECT_FALSE(reader->next(text));
}

// A thread of Arrow would outlive the reader, and a process with threads cannot be copied by
// fork().
TEST_P(Columnar, ReadsOnTheThreadOfTheCaller) {
  const InputOptions options = input(text_array(numbered(1000), arrow::utf8()));
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto before = threads();
  EXPECT_EQ(scan_texts(options, {}).rows, 1000);
  EXPECT_EQ(threads(), before);
}

TEST_P(Columnar, ChangedFileIsRecognised) {
  Texts texts = numbered(3000);
  const InputOptions options = input(text_array(texts, arrow::utf8()));
  const InputScan scan = scan_texts(options, {});
  texts[2900] = "another";
  write_bytes(options.path, file_of(*table_of(text_array(texts, arrow::utf8())), GetParam()));
  const auto reader = open_scanned_texts(options, scan);
  int64_t rows = 0;
  const ErrorDetail error = refused([&] {
    for (Text text; reader->next(text);) EXPECT_EQ(text.utf8, fmt::format("row {}", rows++));
  });
  EXPECT_EQ(error.code.name(), "text.changed");
  EXPECT_EQ(rows, 2000) << "the rows of the blocks before the change";
}

TEST_P(Columnar, FilesFollowEachOther) {
  TempDir dir;
  for (int part = 0; part < 2; ++part)
    dir.write(fmt::format("part-{}{}", part, suffix_of(GetParam())),
              file_of(*table_of(text_array(numbered(1200), arrow::utf8())), GetParam()));
  InputOptions options;
  options.path = dir.file("part-*" + suffix_of(GetParam()));
  options.field = "text";
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(scan.rows, 2400);
  ASSERT_EQ(scan.files.size(), 2U);
  EXPECT_EQ(scan.files[1].first_row, 1200);
  const auto reader = open_scanned_texts(options, scan);
  Text text;
  reader->seek(1201);
  ASSERT_TRUE(reader->next(text));
  EXPECT_EQ(text.utf8, "row 1");
  EXPECT_EQ(text.place(), scan.files[1].path + ":2");
}

TEST_P(Columnar, FilesWithoutRowsHaveNone) {
  EXPECT_EQ(scan_texts(input(text_array({}, arrow::utf8())), {}).rows, 0);
}

TEST_P(Columnar, CompressedAsAWholeIsRefused) {
  InputOptions options;
  options.path = dir_.write("in" + suffix_of(GetParam()) + ".zst", "x");
  options.field = "text";
  EXPECT_EQ(error_of(options).code.name(), "text.format");
}

// Files that pyarrow and datasets have written; see scripts/reference/make_files.py.
TEST(ColumnarFormat, FilesOfPyarrowAndDatasetsAreRead) {
  const Json expected = Json::parse(read_bytes(test_data("arrow/rows.json")));
  InputOptions options;
  options.field = "text";
  for (const char* name : {"texts.parquet", "texts.feather", "saved"}) {
    options.path = test_data(std::string("arrow/") + name);
    options.format = std::string(name) == "texts.parquet" ? TextFormat::kAuto : TextFormat::kArrow;
    EXPECT_EQ(texts_of(options), expected["texts"].get<std::vector<std::string>>()) << name;
  }
  options = {};
  options.path = test_data("arrow/ids.parquet");
  options.field = "input_ids";
  const auto reader = open_texts(options);
  Text text;
  for (const Json& ids : expected["ids"]) {
    ASSERT_TRUE(reader->next(text));
    EXPECT_EQ(text.input_ids, ids.get<std::vector<int32_t>>());
  }
  EXPECT_FALSE(reader->next(text));
}

TEST(ColumnarFormat, ParquetIsNoText) {
  TempDir dir;
  InputOptions options;
  options.path = dir.write("in.txt", "PAR1 and more");
  EXPECT_EQ(error_of(options).code.name(), "text.encoding");
}

// Values of other columns are copied as text.
TEST_P(Columnar, OtherColumnsAreFieldsOfTheRows) {
  const Texts texts = {"a", std::nullopt, "c"};
  arrow::FieldVector fields = {arrow::field("text", arrow::utf8())};
  arrow::ArrayVector columns = {text_array(texts, arrow::utf8())};
  const auto add = [&](const char* name, const std::shared_ptr<arrow::Array>& column) {
    fields.push_back(arrow::field(name, column->type()));
    columns.push_back(column);
  };
  add("id", array_of<arrow::Int64Builder>({int64_t{1} << 60, 2, 3}));
  add("score", array_of<arrow::DoubleBuilder>({0.5, 1, -2e300}));
  add("good", array_of<arrow::BooleanBuilder>({true, false, true}));
  add("day", array_of<arrow::Date32Builder>({0, 1, 19000}));
  add("list", ids_array({{1}, {2}, {3}}, arrow::list(arrow::int32())));
  auto options = file(
      file_of(*arrow::Table::Make(arrow::schema(fields), columns), GetParam(), {.group_rows = 2}));
  options.bad_row = BadRowPolicy::kReject;
  const InputScan scan = scan_texts(options, {});
  const auto reader = open_scanned_fields(options, scan, {"id", "score", "good", "day"});
  std::string rows;
  for (FieldRow row; reader->next(row);) {
    rows += row.text.value_or("-");
    for (const auto& field : row.fields) rows += "|" + field.value_or("-");
    rows += "\n";
  }
  reader->finish();
  EXPECT_EQ(rows, "a|1152921504606846976|0.5|true|1970-01-01\nc|3|-2e+300|true|2022-01-08\n");
  EXPECT_EQ(refused([&] { require_fields(options, scan, {"list"}); }).code.name(), "arrow.type");
  EXPECT_EQ(refused([&] { require_fields(options, scan, {"none"}); }).code.name(), "arrow.column");
}

}  // namespace
}  // namespace encode::testing
