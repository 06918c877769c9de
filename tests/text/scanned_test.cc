// Tests that a second pass over an input returns only rows that the scan has seen, whatever happens
// to the file in between.
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reading.h"
#include "support/code_of.h"
#include "support/temp_dir.h"
#include "text/scanned_reader.h"

namespace encode::testing {
namespace {

constexpr int kRows = 4500;
constexpr int kMoments = 20;

// An input of kRows rows, and another of the same size with other texts.
struct Twins {
  InputOptions options;
  std::string old_bytes;
  std::string new_bytes;
};

std::string row_text(int row, char mark) { return fmt::format("{} {:05}", mark, row); }

std::string file_bytes(TextFormat format, char mark) {
  std::string bytes = format == TextFormat::kCsv ? "id,text\n" : "";
  for (int row = 0; row < kRows; ++row) {
    const std::string text = row_text(row, mark);
    if (format == TextFormat::kLines) bytes += text + "\n";
    if (format == TextFormat::kJsonl) bytes += fmt::format("{{\"text\":\"{}\"}}\n", text);
    if (format == TextFormat::kCsv) bytes += fmt::format("7,\"{}\"\n", text);
  }
  return bytes;
}

// The rows that a reader returned before it ended or threw.
struct Pass {
  std::vector<std::string> texts;
  std::string code;  // of the Error, or ""
  ExitCode exit_code = ExitCode::kOk;
};

// Reads all rows and calls `swap` after `moment` rows.
Pass read_all(TextReader& reader, int moment, const std::function<void()>& swap) {
  Pass pass;
  try {
    for (Text text;;) {
      if (static_cast<int>(pass.texts.size()) == moment) swap();
      if (!reader.next(text)) return pass;
      pass.texts.push_back(text.utf8);
    }
  } catch (const Error& error) {
    pass.code = error.detail().code.name();
    pass.exit_code = error.exit_code();
  }
  return pass;
}

int rows_of_mark(const Pass& pass, char mark) {
  int count = 0;
  for (size_t row = 0; row < pass.texts.size(); ++row)
    count += pass.texts[row] == row_text(static_cast<int>(row), mark) ? 1 : 0;
  return count;
}

class Scanned : public ::testing::Test {
 protected:
  // All formats, plain and compressed.
  std::vector<Twins> all_twins() const {
    std::vector<Twins> all;
    for (const auto& [name, format] :
         {std::pair<std::string, TextFormat>{"in.txt", TextFormat::kLines},
          {"in.jsonl", TextFormat::kJsonl},
          {"in.csv", TextFormat::kCsv}}) {
      for (const std::string suffix : {"", ".gz", ".zst"}) {
        const auto stored = [&suffix](const std::string& bytes) {
          if (suffix == ".gz") return gzip(bytes);
          return suffix == ".zst" ? zstd(bytes) : bytes;
        };
        Twins twins;
        twins.old_bytes = stored(file_bytes(format, 'a'));
        twins.new_bytes = stored(file_bytes(format, 'b'));
        twins.options.path = dir_.file(name + suffix);
        if (format != TextFormat::kLines) twins.options.field = "text";
        all.push_back(std::move(twins));
      }
    }
    return all;
  }

  // Puts `bytes` under the path: over the old file, or as a new file that replaces it.
  void swap(const std::string& path, const std::string& bytes, bool in_place) const {
    if (in_place) return write_bytes(path, bytes);
    std::filesystem::rename(dir_.write("new", bytes), path);
  }

  TempDir dir_;
};

TEST_F(Scanned, ASwapAtAnyMomentGivesOldRowsOrAnError) {
  int refused = 0;
  for (const Twins& twins : all_twins()) {
    for (int moment = 0; moment < kMoments; ++moment) {
      for (const bool in_place : {true, false}) {
        write_bytes(twins.options.path, twins.old_bytes);
        const InputScan scan = scan_texts(twins.options, {});
        ScannedReader reader(twins.options, scan, 4096);
        const Pass pass = read_all(reader, moment * (kRows / kMoments),
                                   [&] { swap(twins.options.path, twins.new_bytes, in_place); });
        EXPECT_EQ(rows_of_mark(pass, 'a'), static_cast<int>(pass.texts.size()))
            << twins.options.path << " " << moment;
        if (pass.code.empty()) {
          EXPECT_EQ(pass.texts.size(), static_cast<size_t>(kRows));
          continue;
        }
        ++refused;
        EXPECT_EQ(pass.code, "text.changed") << twins.options.path << " " << moment;
        EXPECT_EQ(pass.exit_code, ExitCode::kIoError);
      }
    }
  }
  EXPECT_GT(refused, kMoments);  // most swaps in place; a plain reader sees them, see below
}

// Shows that the swaps above are seen by a reader that does not compare the hashes.
TEST_F(Scanned, ControlAPlainReaderMixesTheRows) {
  int mixed = 0;
  for (const Twins& twins : all_twins()) {
    write_bytes(twins.options.path, twins.old_bytes);
    RowReader reader(twins.options, RowReader::Purpose::kRead, 4096);
    const Pass pass =
        read_all(reader, 3 * kRows / 4,  // more than the reader takes to know the format
                 [&] { swap(twins.options.path, twins.new_bytes, /*in_place=*/true); });
    mixed += rows_of_mark(pass, 'a') > 0 && rows_of_mark(pass, 'b') > 0 ? 1 : 0;
  }
  EXPECT_GE(mixed, 3);  // the plain files at least
}

TEST_F(Scanned, AnotherInodeOrTimeAloneIsNoError) {
  for (const Twins& twins : all_twins()) {
    write_bytes(twins.options.path, twins.old_bytes);
    const InputScan scan = scan_texts(twins.options, {});
    swap(twins.options.path, twins.old_bytes, /*in_place=*/false);
    ScannedReader reader(twins.options, scan, 4096);
    const Pass pass = read_all(
        reader, kRows / 2, [&] { swap(twins.options.path, twins.old_bytes, /*in_place=*/true); });
    EXPECT_EQ(pass.code, "");
    EXPECT_EQ(rows_of_mark(pass, 'a'), kRows);
  }
}

// Whatever the new file is like, the Error says that the input changed, because the scan has
// accepted the old one.
TEST_F(Scanned, EveryOtherFileIsAChangedInput) {
  InputOptions options;
  options.path = dir_.write("in.csv", "id,text\n1,abc\n2,def\n");
  options.field = "text";
  const InputScan scan = scan_texts(options, {});
  for (const std::string content :
       {"", "id,text\n1,abc\n", "id,test\n1,abc\n2,def\n", "id,text\n1,\"abc\n2,def\n",
        "text,id\n1,abc\n2,def\n", "id,text\n1,abc\n2,dex\n", "id,text\n1,abc,2\n2,def\n",
        "\xFF\xFE\n", "id,text\n1,ab\n2,cdef\n"}) {
    write_bytes(options.path, content);
    ScannedReader reader(options, scan);
    EXPECT_EQ(read_all(reader, -1, {}).code, "text.changed") << content;
  }
  std::filesystem::remove(options.path);
  ScannedReader reader(options, scan);
  EXPECT_EQ(read_all(reader, -1, {}).code, "text.changed");
}

// A file that is cut is no failure of the disk, in a scan and after it.
TEST_F(Scanned, AFileThatBecomesShorterWhileItIsReadIsAChangedInput) {
  const Twins twins = all_twins().front();
  const auto cut = [&] { std::filesystem::resize_file(twins.options.path, 20'000); };
  write_bytes(twins.options.path, twins.old_bytes);
  RowReader plain(twins.options, RowReader::Purpose::kRead, 4096);
  EXPECT_EQ(read_all(plain, kRows / 4, cut).code, "text.changed");
  write_bytes(twins.options.path, twins.old_bytes);
  const InputScan scan = scan_texts(twins.options, {});
  ScannedReader reader(twins.options, scan, 4096);
  const Pass pass = read_all(reader, kRows / 4, cut);
  EXPECT_EQ(pass.code, "text.changed");
  EXPECT_EQ(pass.exit_code, ExitCode::kIoError);
}

TEST_F(Scanned, AnInputIsUnchangedWhileItsContentIs) {
  namespace fs = std::filesystem;
  for (const char* const name : {"in.txt", "in.txt.gz"}) {
    const bool compressed = std::string(name).ends_with(".gz");
    const std::string bytes = compressed ? gzip("a\nb\n") : "a\nb\n";
    InputOptions options;
    options.path = dir_.write("first.txt", "x\n");
    options.more_paths = {dir_.write(name, bytes)};
    const std::string& path = options.more_paths.front();
    const auto code_after = [&](const std::function<void()>& change) {
      write_bytes(path, bytes);
      fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
      const InputScan scan = scan_texts(options, {});
      change();
      return code_of([&] { require_unchanged(scan); });
    };
    EXPECT_EQ(code_after([] {}), "no error");
    EXPECT_EQ(code_after([&] { read_bytes(path); }), "no error");
    EXPECT_EQ(code_after([&] { fs::permissions(path, fs::perms::owner_read); }), "no error");
    fs::permissions(path, fs::perms::owner_all);
    EXPECT_EQ(code_after([&] { write_bytes(path, bytes + "c\n"); }), "text.changed");
    EXPECT_EQ(code_after([&] { fs::resize_file(path, 2); }), "text.changed");
    EXPECT_EQ(code_after([&] { write_bytes(path, bytes); }), "no error") << "the same content";
    const std::string other = compressed ? gzip("b\na\n") : "b\na\n";
    EXPECT_EQ(code_after([&] { swap(path, bytes, /*in_place=*/false); }), "no error") << "a copy";
    EXPECT_EQ(code_after([&] { swap(path, other, /*in_place=*/false); }), "text.changed");
    EXPECT_EQ(code_after([&] { write_bytes(path, other); }), "text.changed");
    EXPECT_EQ(code_after([&] { fs::remove(path); }), "text.changed");
  }
}

// With limit_rows the scan ends before the last file, whose size and hash belong to the input, too.
TEST_F(Scanned, AFileThatTheScanHasOnlyHashedMustNotChangeEither) {
  InputOptions options;
  options.path = dir_.write("a.txt", "a\nb\n");
  options.more_paths = {dir_.write("b.txt", "c\n")};
  options.limit_rows = 1;
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(code_of([&] { require_unchanged(scan); }), "no error");
  dir_.write("b.txt", "c\nd\n");
  EXPECT_EQ(code_of([&] { require_unchanged(scan); }), "text.changed");
}

TEST_F(Scanned, TextAndTokenIdsOfTheSameBytesAreDifferentRows) {
  InputOptions options;
  options.path = dir_.write("in.jsonl", "{\"t\":\"abcd\"}\n");
  options.field = "t";
  const InputScan scan = scan_texts(options, {});
  write_bytes(options.path, "{\"t\":[1684234849]}\n");  // the bytes of "abcd" as one id
  ScannedReader reader(options, scan);
  EXPECT_EQ(read_all(reader, -1, {}).code, "text.changed");
}

TEST_F(Scanned, ABlockEndsWithTheRowThatReachesItsSize) {
  std::string bytes;
  for (int row = 0; row < 10; ++row) bytes += std::string(400'000, 'x') + "\n";
  InputOptions options;
  options.path = dir_.write("in.txt", bytes);
  const InputScan scan = scan_texts(options, {});
  std::vector<int64_t> begins;
  for (const InputScan::Checkpoint& checkpoint : scan.checkpoints) begins.push_back(checkpoint.row);
  EXPECT_THAT(begins, ::testing::ElementsAre(0, 3, 6, 9));
  ScannedReader reader(options, scan);
  EXPECT_EQ(read_all(reader, -1, {}).texts.size(), 10U);
}

TEST_F(Scanned, ARowThatWasReadCanBeReadAgain) {
  const Twins twins = all_twins().front();
  write_bytes(twins.options.path, twins.old_bytes);
  const InputScan scan = scan_texts(twins.options, {});
  ScannedReader reader(twins.options, scan);
  Text text;
  for (const int row : {1500, 1501, 1500, 0, 999, 998, 4499}) {
    reader.seek(row);
    ASSERT_TRUE(reader.next(text));
    EXPECT_EQ(text.utf8, row_text(row, 'a'));
  }
  EXPECT_FALSE(reader.next(text));
}

}  // namespace
}  // namespace encode::testing
