// Tests properties that the reader must have for every input, with random and with hostile inputs.
#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/host.h"
#include "base/utf8.h"
#include "reading.h"
#include "support/temp_dir.h"
#include "text/scanned_reader.h"

namespace encode::testing {
namespace {

struct Sample {
  std::string name;
  TextFormat format;
  std::string bytes;
};

// Returns `pieces` random elements of `alphabet`, joined to one text. The alphabets below contain
// the bytes that a parser treats specially.
std::string random_bytes(std::mt19937& random, size_t pieces,
                         const std::vector<std::string>& alphabet) {
  std::string bytes;
  for (size_t i = 0; i < pieces; ++i) bytes += alphabet[random() % alphabet.size()];
  return bytes;
}

std::vector<Sample> samples() {
  using namespace std::string_literals;
  std::mt19937 random(7);  // NOLINT(cert-msc32-c, cert-msc51-cpp): the same samples in every run
  const std::vector<std::string> lines = {"a",        "bc",   "\n",           "\r\n",
                                          "\r",       "\0"s,  "\xEF\xBB\xBF", "\xE2\x82",
                                          "\xC3\xA9", "\xFF", "long text "};
  const std::vector<std::string> fields = {"a",    "b",        ",",        "\"",
                                           "\n",   "\r\n",     "\r",       "\"x\ny\"",
                                           "\"\"", "\xE2\x82", "\n1,ok\n", "\n2,\"q\"\"\"\n"};
  const std::vector<std::string> json = {"{\"text\":\"abc\"}\n",
                                         "{\"text\":\"\\ud800\"}\r\n",
                                         "{\"id\":1,\"text\":\"\xFF\"}\n",
                                         "\n",
                                         " \n",
                                         "{\"text\":null}\n",
                                         "{\"text\":\"a\",\"text\":\"b\"}\n",
                                         "{",
                                         "\"",
                                         "}\n",
                                         "[[[",
                                         "{\"text\":\"\"}\n",
                                         "{\"text\":\"long enough to be too long\"}\n"};
  const std::vector<std::string> array = {"{\"text\":\"abc\"}",
                                          ",",
                                          ",\n",
                                          "{\"text\":\"\\ud800\"},",
                                          " {\"id\":[1,{\"a\":\"\\\"]\"}],\"text\":\"\xFF\"} ,",
                                          "{\"text\":null},\r\n",
                                          "7,",
                                          "{\"text\":\"\\\\\"},",
                                          "{\"text\":\"long enough to be too long\"},",
                                          "{\"text\":\"last\"}]\n"};
  std::vector<Sample> all;
  for (int i = 0; i < 40; ++i) {
    all.push_back({"in.txt", TextFormat::kLines, random_bytes(random, 60, lines)});
    all.push_back({"in.jsonl", TextFormat::kJsonl, random_bytes(random, 25, json)});
    all.push_back({"in.json", TextFormat::kJson, "[" + random_bytes(random, 8, array)});
    all.push_back(
        {"in.json", TextFormat::kJson,
         "[" + random_bytes(random, 25, {array.begin() + 3, array.end() - 1}) + array.back()});
    all.push_back({"in.csv", TextFormat::kCsv, "id,text\n" + random_bytes(random, 40, fields)});
    all.push_back({"in.csv", TextFormat::kCsv, "text\n" + random_bytes(random, 10, fields)});
  }
  return all;
}

// Returns everything that a scan and a reader report about an input, errors included.
std::string outcome(const InputOptions& options, size_t block_bytes) {
  std::string said;
  try {
    const InputScan scan = RowReader(options, RowReader::Purpose::kScan, block_bytes)
                               .scan([&](const RejectedRow& row) {
                                 said +=
                                     fmt::format("{}@{} {}\n", row.record, row.line, row.reason);
                               });
    EXPECT_EQ(scan.rows_in, scan.rows + scan.rejected);
    EXPECT_GE(std::count(said.begin(), said.end(), '\n'), scan.rejected);
    said += fmt::format("{} of {}, replaced {}\n", scan.rows, scan.rows_in, scan.utf8_replaced);
    for (const std::string& row : rows_of(options, block_bytes)) {
      EXPECT_TRUE(is_valid_utf8(row));
      said += row + "\n";
    }
  } catch (const Error& error) {
    said += error.what();
  }
  return said;
}

class Property : public ::testing::Test {
 protected:
  InputOptions options_for(const Sample& sample, const std::string& suffix,
                           const std::string& bytes) {
    InputOptions options;
    options.path = dir_.write(sample.name + suffix, bytes);
    if (sample.format != TextFormat::kLines) options.field = "text";
    options.bad_row = BadRowPolicy::kReject;
    options.max_row_bytes = 20;
    return options;
  }
  TempDir dir_;
};

TEST_F(Property, AnyCutIntoBlocksGivesTheSameRows) {
  for (const Sample& sample : samples()) {
    const InputOptions options = options_for(sample, "", sample.bytes);
    const std::string whole = outcome(options, RowReader::kBlockBytes);
    for (const size_t block_bytes : {1, 2, 3, 7, 16, 61}) {
      ASSERT_EQ(outcome(options, block_bytes), whole) << block_bytes << "\n" << sample.bytes;
    }
  }
}

TEST_F(Property, TheSamplesHaveRowsRejectionsAndErrors) {
  int rows = 0;
  int rejected = 0;
  int errors = 0;
  for (const Sample& sample : samples()) {
    try {
      const InputScan scan = scan_texts(options_for(sample, "", sample.bytes), {});
      rows += scan.rows > 0 ? 1 : 0;
      rejected += scan.rejected > 0 ? 1 : 0;
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(rows, 80);
  EXPECT_GT(rejected, 60);
  EXPECT_GT(errors, 5);
}

TEST_F(Property, CompressedAndPlainGiveTheSameRows) {
  for (const Sample& sample : samples()) {
    const auto texts = [](const InputOptions& options) {
      try {
        return rows_of(options, 13);
      } catch (const Error& error) {
        return std::vector<std::string>{std::string(error.detail().code.name())};
      }
    };
    const auto plain = texts(options_for(sample, "", sample.bytes));
    EXPECT_EQ(texts(options_for(sample, ".gz", gzip(sample.bytes))), plain);
    EXPECT_EQ(texts(options_for(sample, ".zst", zstd(sample.bytes))), plain);
  }
}

std::string csv_of(const std::vector<std::string>& texts) {
  std::string csv = "id,text\r\n";
  for (const std::string& text : texts) {
    csv += "7,\"";
    for (const char c : text) csv += c == '"' ? "\"\"" : std::string(1, c);
    csv += "\"\r\n";
  }
  return csv;
}

TEST_F(Property, WhatIsWrittenAsCsvIsReadBack) {
  std::mt19937 random(11);  // NOLINT(cert-msc32-c, cert-msc51-cpp)
  std::vector<std::string> texts(2000);
  for (std::string& text : texts) {
    text = random_bytes(random, random() % 9, {"a", "\"", ",", "\n", "\r", "\t", "\xC3\xA9"});
  }
  InputOptions options;
  options.path = dir_.write("in.csv", csv_of(texts));
  options.field = "text";
  EXPECT_EQ(texts_of(options, 64), texts);
}

// Returns 3,500 rows with 500 rejected records between them. A scan then has blocks that begin at
// rows 0, 1000, 2000 and 3000.
std::string many_records(TextFormat format) {
  std::string bytes = format == TextFormat::kCsv    ? "id,text\n"
                      : format == TextFormat::kJson ? "["
                                                    : "";
  for (int i = 0; i < 4000; ++i) {
    const std::string text = i % 8 == 0 ? "much too long to be a row" : fmt::format("row {}", i);
    if (format == TextFormat::kLines) bytes += text + "\n";
    if (format == TextFormat::kJsonl) bytes += fmt::format("{{\"text\":\"{}\"}}\n", text);
    if (format == TextFormat::kJson)
      bytes += fmt::format("{{\"text\":\"{}\"}}{}", text, i == 3999 ? "]" : ", ");
    if (format == TextFormat::kCsv) bytes += fmt::format("\"a\nb\",{}\n", text);
  }
  return bytes;
}

TEST_F(Property, SeekEqualsReadingFromTheStart) {
  for (const auto& [name, format] :
       {std::pair<std::string, TextFormat>{"in.txt", TextFormat::kLines},
        {"in.jsonl", TextFormat::kJsonl},
        {"in.json", TextFormat::kJson},
        {"in.csv", TextFormat::kCsv}}) {
    const std::string bytes = many_records(format);
    for (const auto& [suffix, stored] : {std::pair<std::string, std::string>{"", bytes},
                                         {".gz", gzip(bytes)},
                                         {".zst", zstd(bytes)}}) {
      const InputOptions options = options_for({name, format, bytes}, suffix, stored);
      const InputScan scan = scan_in_blocks(options, 4096);
      ASSERT_EQ(scan.rows, 3500);
      ASSERT_EQ(scan.checkpoints.size(), 4U);
      const std::vector<std::string> rows = rows_of(options);
      ScannedReader reader(options, scan, 512);
      for (const int64_t row : {0, 1, 999, 1000, 1001, 3499, 2500, 3000, 0, 1999}) {
        reader.seek(row);
        Text text;
        ASSERT_TRUE(reader.next(text));
        EXPECT_EQ(text.row, row);
        EXPECT_EQ(fmt::format("line {}: {}", text.line, text.utf8), rows[static_cast<size_t>(row)])
            << name << suffix;
      }
      reader.seek(3500);
      Text text;
      EXPECT_FALSE(reader.next(text));
    }
  }
}

// A small archive can have any number of rows. Their blocks grow with the number of rows, and each
// row is still found.
TEST_F(Property, BlocksOfManyShortRowsGrow) {
  const auto text_of = [](int64_t row) {
    return row % 1'000'003 == 0 ? fmt::to_string(row) : std::string();
  };
  constexpr int64_t kBlocks = InputScan::kBlocksOfOneSize;
  constexpr int64_t kRows = 3 * kBlocks * InputScan::kBlockRows + 5000;
  std::string bytes;
  for (int64_t row = 0; row < kRows; ++row) bytes += text_of(row) + "\n";
  InputOptions options;
  options.path = dir_.write("in.txt", bytes);
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(scan.rows, kRows);
  EXPECT_EQ(std::ssize(scan.checkpoints), 2 * kBlocks + 2);
  EXPECT_EQ(scan.checkpoints[1].row, InputScan::kBlockRows);
  EXPECT_EQ(scan.checkpoints.back().row - scan.checkpoints[2 * kBlocks].row,
            4 * InputScan::kBlockRows);
  const auto reader = open_scanned_texts(options, scan);
  for (int64_t row = 0; row < kRows; row += 1'000'003) {
    for (const int64_t near : {row, row + 1}) {
      reader->seek(near);
      Text text;
      ASSERT_TRUE(reader->next(text));
      EXPECT_EQ(text.utf8, text_of(near));
      EXPECT_EQ(text.line, near + 1);
    }
  }
}

TEST_F(Property, MemoryDoesNotGrowWithTheFile) {
  // The rows have 24 x 8 MiB in total. They compress well, so the file is small.
  std::string rows;
  while (rows.size() < (size_t{8} << 20)) rows += "a short row of text\n";
  const std::string member = gzip(rows);
  std::string compressed;
  for (int i = 0; i < 24; ++i) compressed += member;
  InputOptions options;
  options.path = dir_.write("in.txt.gz", compressed);
  // The first pass allocates what a reader needs. The second pass must not need more.
  scan_in_blocks(options, RowReader::kBlockBytes);
  const int64_t before = peak_resident_bytes();
  const InputScan scan = scan_texts(options, {});
  EXPECT_GT(scan.text_bytes, 180'000'000);
  EXPECT_LT(peak_resident_bytes() - before, int64_t{8} << 20);
}

}  // namespace
}  // namespace encode::testing
