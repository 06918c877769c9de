// Tests texts that are made from several columns of Parquet and Arrow IPC files.
#include <fmt/format.h>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arrow_files.h"
#include "reading.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ColumnarTemplate : public ::testing::TestWithParam<Container> {
 protected:
  // The file has a column "title" of strings, "n" of integers, "b" of booleans and "ids" of lists.
  // Row 1 has a null in "title" and in "n".
  InputOptions input(const std::string& text_template, int64_t group_rows = 100) {
    arrow::Int64Builder numbers;
    arrow::BooleanBuilder flags;
    EXPECT_TRUE(numbers.Append(7).ok() && numbers.AppendNull().ok() && numbers.Append(-1).ok());
    EXPECT_TRUE(flags.Append(true).ok() && flags.Append(false).ok() && flags.Append(true).ok());
    const auto table = arrow::Table::Make(
        arrow::schema({arrow::field("n", arrow::int64()), arrow::field("title", arrow::utf8()),
                       arrow::field("b", arrow::boolean()),
                       arrow::field("ids", arrow::list(arrow::int32()))}),
        {numbers.Finish().ValueOrDie(), text_array({"A", {}, "C\n"}, arrow::utf8()),
         flags.Finish().ValueOrDie(), ids_array({{1}, {2}, {3}}, arrow::list(arrow::int32()))});
    InputOptions options;
    options.path = dir_.write(fmt::format("in{}{}", ++files_, suffix_of(GetParam())),
                              file_of(*table, GetParam(), {.group_rows = group_rows}));
    options.text_template = text_template;
    return options;
  }
  TempDir dir_;
  int files_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Containers, ColumnarTemplate, kContainers, container_name);

TEST_P(ColumnarTemplate, TakesTheColumns) {
  for (const int64_t rows : {1, 2, 100}) {
    EXPECT_THAT(texts_of(lenient(input("{title}: {n} {b} {title}", rows))),
                ElementsAre("A: 7 true A", "C\n: -1 true C\n"));
    InputOptions options = input("{title}|{n}|{b}", rows);
    options.missing_field = MissingFieldPolicy::kEmpty;
    EXPECT_THAT(rows_of(options),
                ElementsAre("line 1: A|7|true", "line 2: ||false", "line 3: C\n|-1|true"));
  }
}

TEST_P(ColumnarTemplate, RefusesANull) {
  const InputOptions options = input("{b} {n}");
  const ErrorDetail error = error_of(options);
  EXPECT_EQ(error.code.name(), "arrow.null");
  EXPECT_EQ(error.where, options.path + ":2");
  EXPECT_THAT(error.what, HasSubstr("'n'"));
  EXPECT_THAT(error.hint, HasSubstr("--missing-field empty"));
}

TEST_P(ColumnarTemplate, RefusesUnknownColumnsAndLists) {
  InputOptions options = input("{title} {titel}");
  options.missing_field = MissingFieldPolicy::kEmpty;
  const ErrorDetail error = error_of(options);
  EXPECT_EQ(error.code.name(), "arrow.column");
  EXPECT_THAT(error.hint, HasSubstr("--text"));
  EXPECT_EQ(error_of(input("{title} {ids}")).code.name(), "arrow.type");
}

TEST_P(ColumnarTemplate, GoesToARowOfAllColumns) {
  const InputOptions options = lenient(input("{title} {b}", 1));
  const InputScan scan = scan_texts(options, {});
  ASSERT_EQ(scan.rows, 2);
  const auto reader = open_scanned_texts(options, scan);
  Text text;
  for (const int64_t row : {1, 0, 1}) {
    reader->seek(row);
    ASSERT_TRUE(reader->next(text));
    EXPECT_EQ(text.utf8, row == 0 ? "A true" : "C\n true");
  }
}

}  // namespace
}  // namespace encode::testing
