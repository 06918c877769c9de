// Tests that a filter keeps the right records, in the first pass and in later ones.
#include <fmt/format.h>
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

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Filter : public ::testing::Test {
 protected:
  InputOptions input(const std::string& name, const std::string& content,
                     const std::string& where) const {
    InputOptions options;
    options.path = dir_.write(name, content);
    options.field = "text";
    options.filter.where = where;
    return options;
  }
  // Record i has the text "t<i>" and the number i in the field n.
  InputOptions numbers(int64_t records, const std::string& where) const {
    return input("numbers.jsonl", lines_of(records), where);
  }
  static std::string lines_of(int64_t records) {
    std::string lines;
    for (int64_t i = 0; i < records; ++i)
      lines += fmt::format("{{\"text\":\"t{0}\",\"n\":{0}}}\n", i);
    return lines;
  }
  static std::vector<int64_t> records_of(const InputOptions& options) {
    std::vector<int64_t> records;
    const auto reader = open_texts(options);
    for (Text text; reader->next(text);) records.push_back(text.record);
    return records;
  }
  TempDir dir_;
};

TEST_F(Filter, OnlyRecordsForWhichItIsTrueBecomeRows) {
  const InputOptions options = numbers(10, "n in [0, 3, 4, 9]");
  EXPECT_THAT(texts_of(options), ElementsAre("t0", "t3", "t4", "t9"));
  EXPECT_THAT(records_of(options), ElementsAre(0, 3, 4, 9));
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(scan.rows_in, 10);
  EXPECT_EQ(scan.rows, 4);
  EXPECT_EQ(scan.filtered, 6);
  EXPECT_EQ(scan.filter_unknown, 0);
  EXPECT_EQ(scan.rejected, 0);
  EXPECT_EQ(scan.kept_xxh3_128.size(), 32U);
  EXPECT_EQ(scan_texts(numbers(10, ""), {}).kept_xxh3_128, "");
}

TEST_F(Filter, RecordsWithANullAreCounted) {
  const InputOptions options =
      input("a.jsonl", "{\"text\":\"a\",\"n\":1}\n{\"text\":\"b\"}\n{\"text\":\"c\",\"n\":null}\n",
            "n != 5");
  EXPECT_THAT(texts_of(options), ElementsAre("a"));
  EXPECT_EQ(scan_texts(options, {}).filter_unknown, 2);
}

// The filter comes first: `text is not null` is a reason to have one.
TEST_F(Filter, ADroppedRecordIsNoBadRow) {
  const std::string lines =
      "{\"text\":\"a\",\"n\":1}\n{\"n\":2}\n{\"text\":7,\"n\":3}\n{\"text\":\"\",\"n\":4}\n{"
      "\"text\":\"b\",\"n\":5}\n";
  InputOptions options = input("a.jsonl", lines, "text is not null and n in [1, 5]");
  options.empty_row = EmptyRowPolicy::kError;
  EXPECT_THAT(texts_of(options), ElementsAre("a", "b"));
  EXPECT_EQ(error_of(input("a.jsonl", lines, "n < 3")).code.name(), "jsonl.missing");
}

TEST_F(Filter, ARecordThatCannotBeReadIsABadRow) {
  const std::string lines = "{\"text\":\"a\",\"n\":1}\n{\"n\"\n{\"text\":\"b\",\"n\":\"x\"}\n";
  InputOptions options = input("a.jsonl", lines, "n == 1");
  EXPECT_EQ(error_of(options).code.name(), "jsonl.syntax");
  options.bad_row = BadRowPolicy::kReject;
  EXPECT_THAT(texts_of(options), ElementsAre("a"));
  EXPECT_THAT(rejections_of(options),
              ElementsAre(HasSubstr("2: "),
                          "3: the filter compares a string with a number: the string 'x'"));
}

TEST_F(Filter, AnErrorNamesTheRowTheFieldAndBothTypes) {
  const ErrorDetail error = error_of(
      input("a.jsonl", "{\"text\":\"a\",\"n\":1}\n{\"text\":\"b\",\"n\":\"x\"}\n", "n == 1"));
  EXPECT_EQ(error.code.name(), "filter.type");
  EXPECT_EQ(error.exit_code, ExitCode::kData);
  EXPECT_EQ(error.where, dir_.file("a.jsonl") + ":2");
  EXPECT_EQ(error.expected, "a number in 'n', because the filter compares it with 1");
  EXPECT_EQ(error.found, "the string 'x'");
  EXPECT_THAT(error.hint, HasSubstr("bad_row: reject"));
}

TEST_F(Filter, TheLimitCountsTheRowsThatAreKept) {
  InputOptions options = numbers(10, "n > 4");
  options.limit_rows = 2;
  EXPECT_THAT(texts_of(options), ElementsAre("t5", "t6"));
}

TEST_F(Filter, TheRecordsOfSeveralFilesAreCountedOn) {
  InputOptions options = numbers(3, "n > 1");
  options.more_paths = {dir_.write("more.jsonl.zst", zstd(lines_of(4))), dir_.write("z.jsonl", "")};
  EXPECT_THAT(records_of(options), ElementsAre(2, 5, 6));
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(scan.files[1].first_row, 1);
  EXPECT_EQ(scan.files[2].first_row, 3);
}

TEST_F(Filter, AMissingFieldIsNullAndAMissingColumnIsAnError) {
  EXPECT_THAT(texts_of(numbers(2, "m is null")), ElementsAre("t0", "t1"));
  EXPECT_THAT(texts_of(numbers(2, "m == 1 or m != 1")), IsEmpty());
  const ErrorDetail column = error_of(input("a.csv", "text,n\na,1\n", "m == 1"));
  EXPECT_EQ(column.code.name(), "csv.column");
  EXPECT_THAT(column.hint, HasSubstr("--where"));
  EXPECT_THAT(unseen_filter_fields(numbers(2, "m == 1 and n == 1"), scan_texts(numbers(2, ""), {})),
              ElementsAre("m"));
}

TEST_F(Filter, AnEmptyFieldOfCsvIsNull) {
  const std::string table = "text,n,s\na,1,x\nb,,\nc,20,y\n";
  EXPECT_THAT(texts_of(input("a.csv", table, "n is null")), ElementsAre("b"));
  EXPECT_THAT(texts_of(input("a.csv", table, "n > 3")), ElementsAre("c"));
  EXPECT_THAT(texts_of(input("a.csv", table, "n < '20'")), ElementsAre("a"));
  EXPECT_THAT(texts_of(input("a.csv", table, "s != 'x'")), ElementsAre("c"));
}

TEST_F(Filter, InvalidUtf8FollowsThePolicy) {
  InputOptions options = input("a.csv", "text,s\na,\xFF\nb,x\n", "s == '\xEF\xBF\xBD'");
  EXPECT_THAT(texts_of(options), ElementsAre("a"));
  options.utf8 = Utf8Policy::kError;
  EXPECT_EQ(error_of(options).code.name(), "text.utf8");
}

// Small blocks cut the records at every place, and a later pass may begin anywhere.
TEST_F(Filter, ALaterPassReturnsTheRowsOfTheScan) {
  const InputOptions options = numbers(5000, "n >= 700 and n != 4000");
  const InputScan scan = scan_texts(options, {});
  ASSERT_GT(scan.checkpoints.size(), 3U);
  const auto reader = open_scanned_texts(options, scan);
  for (const int64_t row :
       {int64_t{4298}, int64_t{0}, int64_t{3299}, int64_t{3300}, int64_t{1500}}) {
    reader->seek(row);
    Text text;
    ASSERT_TRUE(reader->next(text));
    EXPECT_EQ(text.record, row < 3300 ? row + 700 : row + 701);
    EXPECT_EQ(text.utf8, fmt::format("t{}", text.record));
  }
}

// The texts of the rows are the same, but they come from other records.
TEST_F(Filter, ALaterPassSeesThatOtherRecordsAreKept) {
  const std::string before = "{\"text\":\"a\",\"n\":1}\n{\"text\":\"a\",\"n\":2}\n";
  const std::string after = "{\"text\":\"a\",\"n\":2}\n{\"text\":\"a\",\"n\":1}\n";
  const InputOptions options = input("a.jsonl", before, "n == 1");
  const InputScan scan = scan_texts(options, {});
  const auto read = [&] {
    Text text;
    open_scanned_texts(options, scan)->next(text);
  };
  EXPECT_EQ(refused(read).code, ErrorCode());
  dir_.write("a.jsonl", after);
  EXPECT_EQ(refused(read).code.name(), "text.changed");
}

// A stream whose filter reads the input of another stream.
class OtherInput : public Filter {
 protected:
  InputOptions with_filter_of(const std::string& name, const std::string& content,
                              const std::string& where, int64_t records) const {
    InputOptions options = input("own.csv", "text\n", where);
    std::string table = "text\n";
    for (int64_t i = 0; i < records; ++i) table += fmt::format("c{}\n", i);
    dir_.write("own.csv", table);
    options.filter.paths = {dir_.write(name, content)};
    options.filter.max_row_bytes = options.max_row_bytes;
    return options;
  }
};

TEST_F(OtherInput, KeepsTheRecordsThatTheOtherStreamKeeps) {
  const InputOptions options =
      with_filter_of("n.jsonl", lines_of(4000), "n >= 10 and n < 3900", 4000);
  const std::vector<int64_t> records = records_of(options);
  EXPECT_EQ(records, records_of(numbers(4000, "n >= 10 and n < 3900")));
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(scan.kept_xxh3_128,
            scan_texts(numbers(4000, "n >= 10 and n < 3900"), {}).kept_xxh3_128);
  EXPECT_NE(scan.kept_xxh3_128,
            scan_texts(numbers(4000, "n >= 11 and n < 3901"), {}).kept_xxh3_128);
  const auto reader = open_scanned_texts(options, scan);
  for (const int64_t row : {3889, 100, 2500}) {
    reader->seek(row);
    Text text;
    ASSERT_TRUE(reader->next(text));
    EXPECT_EQ(text.utf8, fmt::format("c{}", row + 10));
  }
}

TEST_F(OtherInput, MustHaveTheSameNumberOfRecords) {
  for (const int64_t records : {9, 11}) {
    const InputOptions options = with_filter_of("n.jsonl", lines_of(records), "n >= 0", 10);
    const ErrorDetail error = refused([&] { scan_texts(options, {}); });
    EXPECT_EQ(error.code.name(), "filter.records") << records;
    EXPECT_EQ(error.exit_code, ExitCode::kData);
    EXPECT_THAT(error.expected, HasSubstr("own.csv"));
  }
  EXPECT_EQ(scan_texts(with_filter_of("n.jsonl", lines_of(10), "n >= 0", 10), {}).rows, 10);
}

TEST_F(OtherInput, ABadRecordThereIsABadRowWithItsPlace) {
  InputOptions options =
      with_filter_of("n.jsonl", "{\"n\":1}\n{\"n\":\"x\"}\n{\"n\":\n{\"n\":1}\n", "n == 1", 4);
  EXPECT_EQ(error_of(options).where, dir_.file("n.jsonl") + ":2");
  options.bad_row = BadRowPolicy::kReject;
  EXPECT_THAT(texts_of(options), ElementsAre("c0", "c3"));
  EXPECT_THAT(rejections_of(options),
              ElementsAre(HasSubstr("n.jsonl:2)"), HasSubstr("n.jsonl:3)")));
}

}  // namespace
}  // namespace encode::testing
