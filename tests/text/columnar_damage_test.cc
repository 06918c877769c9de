// Damaged and hostile Parquet and Arrow files: an error or the same rows, never a crash.
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "arrow_files.h"
#include "reading.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

Texts numbered(int64_t rows) {
  Texts texts;
  for (int64_t row = 0; row < rows; ++row) texts.emplace_back(fmt::format("row {}", row));
  return texts;
}

class ColumnarDamage : public ::testing::TestWithParam<Container> {
 protected:
  // Returns the rows, or the code of the Error.
  std::vector<std::string> rows_or_code(const std::string& bytes) {
    InputOptions options;
    options.path = dir_.write("in" + suffix_of(GetParam()), bytes);
    options.field = "text";
    try {
      scan_texts(options, {});
      return texts_of(options);
    } catch (const Error& error) {
      codes_.emplace_back(error.detail().code.name());
      EXPECT_FALSE(error.detail().expected.empty() || error.detail().found.empty() ||
                   error.detail().hint.empty() || error.detail().where.empty());
      return {std::string(error.detail().code.name())};
    }
  }
  TempDir dir_;
  std::vector<std::string> codes_;
};

INSTANTIATE_TEST_SUITE_P(Containers, ColumnarDamage, kContainers, container_name);

TEST_P(ColumnarDamage, TruncationAtEveryPlaceIsAnError) {
  const std::string whole =
      file_of(*table_of(text_array(numbered(250), arrow::utf8())), GetParam());
  for (size_t size = 0; size < whole.size(); size += 64)
    EXPECT_EQ(rows_or_code(whole.substr(0, size)), std::vector<std::string>{"arrow.damaged"})
        << size << " of " << whole.size();
  // The end is where a reader is most likely to see nothing missing.
  for (size_t missing = 1; missing < 64; ++missing)
    EXPECT_EQ(rows_or_code(whole.substr(0, whole.size() - missing)),
              std::vector<std::string>{"arrow.damaged"})
        << missing << " bytes missing";
}

// A changed byte can be one of a text, so the rows may be other ones. Any other outcome than rows
// or an error of the file is a defect.
TEST_P(ColumnarDamage, ChangedBytesAreAnErrorOrRows) {
  const auto column = text_array(numbered(250), arrow::utf8());
  for (const bool compressed : {true, false}) {
    const Writing writing = {.group_rows = 100, .compressed = compressed, .checksums = true};
    const std::string whole = file_of(*table_of(column), GetParam(), writing);
    for (size_t place = 0; place < whole.size(); place += 64) {
      for (const char other : {'\0', '\x7F', '\xFF'}) {
        std::string changed = whole;
        if (changed[place] == other) continue;
        changed[place] = other;
        rows_or_code(changed);
      }
    }
  }
  for (const std::string& code : codes_)
    EXPECT_TRUE(code == "arrow.damaged" || code == "arrow.memory" || code == "arrow.column" ||
                code == "arrow.type" || code == "arrow.null")
        << code;
  EXPECT_GT(codes_.size(), 20U) << "the damage must reach the checks";
}

TEST_P(ColumnarDamage, OtherBytesAreNoFile) {
  for (const char* bytes : {"", "x", "PAR1", "ARROW1", "PAR1PAR1PAR1", "ARROW1..........ARROW1"})
    EXPECT_EQ(rows_or_code(bytes), std::vector<std::string>{"arrow.damaged"}) << bytes;
  EXPECT_EQ(rows_or_code(std::string(100'000, '\0')), std::vector<std::string>{"arrow.damaged"});
  EXPECT_EQ(rows_or_code(std::string(100'000, '\xFF')), std::vector<std::string>{"arrow.damaged"});
}

// A dictionary makes a small file large. The arrays of the reader become smaller until they fit.
TEST(ColumnarMemory, ManyRowsOfALongTextAreReadInSmallArrays) {
  TempDir dir;
  constexpr int64_t kTextBytes = 1 << 20;
  constexpr size_t kRows = 1100;
  const auto dictionary = text_array({std::string(kTextBytes, 'x')}, arrow::utf8());
  const auto table = table_of(dictionary_array(std::vector<int32_t>(kRows, 0), dictionary));
  // Without the schema of Arrow, the column is one of plain strings.
  InputOptions options;
  options.path = dir.write(
      "in.parquet",
      file_of(*table, Container::kParquet,
              {.group_rows = 1100, .compressed = true, .checksums = false, .store_schema = false}));
  options.field = "text";
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(scan.rows, static_cast<int64_t>(kRows));
  EXPECT_EQ(scan.text_bytes, static_cast<int64_t>(kRows) * kTextBytes);
  EXPECT_LT(scan.files[0].bytes, 1 << 20);
}

// A small file that states a large size: the reader must not take the memory.
TEST(ColumnarMemory, SizeOfACompressedBufferIsLimited) {
  TempDir dir;
  InputOptions options;
  options.field = "text";
  constexpr size_t kRows = 7;
  const Texts texts(kRows, std::string(12'345, 'x'));
  std::string bytes = file_of(*table_of(text_array(texts, arrow::utf8())), Container::kIpcStream);
  const auto stated = [](uint64_t size) {
    return std::string(reinterpret_cast<const char*>(&size), sizeof size);
  };
  // The last such number is the size before the texts; the last offset is another one.
  const size_t place = bytes.rfind(stated(kRows * 12'345));
  ASSERT_NE(place, std::string::npos);
  bytes.replace(place, sizeof(uint64_t), stated(uint64_t{1} << 31));
  options.path = dir.write("in.arrow", bytes);
  EXPECT_EQ(error_of(options).code.name(), "arrow.memory");
}

}  // namespace
}  // namespace encode::testing
