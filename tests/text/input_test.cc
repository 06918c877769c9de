// Tests of input files: names, compression, damage, and standard input.
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/refused.h"
#include "reading.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Input : public ::testing::Test {
 protected:
  InputOptions file(const std::string& name, std::string_view content) {
    InputOptions options;
    options.path = dir_.write(name, content);
    return options;
  }
  TempDir dir_;
};

TEST_F(Input, TheNameTellsTheFormat) {
  InputOptions options = file("a.JSONL", "{\"t\":\"x\"}\n");
  options.field = "t";
  EXPECT_THAT(texts_of(options), ElementsAre("x"));
  options = file("a.TSV.GZ", gzip("t\nx\n"));
  options.field = "t";
  EXPECT_THAT(texts_of(options), ElementsAre("x"));
  options = file("a.log", "x\n");
  EXPECT_EQ(error_of(options).code, "text.format");
  options.format = TextFormat::kLines;
  EXPECT_THAT(texts_of(options), ElementsAre("x"));
}

TEST_F(Input, CompressedFilesMayHaveSeveralMembersAndFrames) {
  EXPECT_THAT(texts_of(file("a.txt.gz", gzip("a\nb") + gzip("") + gzip("c\n"))),
              ElementsAre("a", "bc"));
  EXPECT_THAT(texts_of(file("a.txt.zst", zstd("a\nb") + zstd("") + zstd("c\n"))),
              ElementsAre("a", "bc"));
  EXPECT_THAT(texts_of(file("b.txt.gz", gzip("a\n") + std::string(1000, '\0'))), ElementsAre("a"));
}

// The size of this file is 0, and every read of it fails.
TEST_F(Input, ErrorInReadingIsNotTheEndOfTheFile) {
  InputOptions options;
  options.path = "/proc/self/mem";
  options.format = TextFormat::kLines;
  const ErrorDetail error = refused([&] { scan_texts(options, {}); });
  EXPECT_EQ(error.code, "io.read");
  EXPECT_EQ(error.exit_code, ExitCode::kIoError);
}

TEST_F(Input, EveryTruncationOfACompressedFileIsAnError) {
  for (const auto& [name, bytes] :
       {std::pair<std::string, std::string>{"a.txt.gz", gzip("hello\nhello world\n")},
        {"a.txt.zst", zstd("hello\nhello world\n")}}) {
    ASSERT_EQ(texts_of(file(name, bytes)).size(), 2U);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const ErrorDetail error = error_of(lenient(file(name, bytes.substr(0, size))));
      EXPECT_EQ(error.exit_code, ExitCode::kData) << name << size;
      EXPECT_THAT(error.code, ::testing::EndsWith(".truncated")) << name << size;
      EXPECT_THAT(error.found, HasSubstr(fmt::format("byte {}", size))) << name << size;
    }
  }
}

TEST_F(Input, DamageInACompressedFileIsAnErrorWithItsPlace) {
  std::string bytes = gzip(std::string(10000, 'x') + "\n");
  bytes[bytes.size() - 6] ^= 1;  // changes the CRC
  ErrorDetail error = error_of(lenient(file("a.txt.gz", bytes)));
  EXPECT_EQ(error.code, "gzip.corrupt");
  EXPECT_THAT(error.found, HasSubstr("near byte"));
  EXPECT_EQ(error_of(file("b.txt.gz", gzip("a\n") + "garbage")).code, "gzip.corrupt");
  EXPECT_EQ(error_of(file("c.txt.gz", "plain\n")).code, "gzip.corrupt");
  EXPECT_EQ(error_of(file("a.txt.zst", zstd("a\n") + "garbage")).code, "zstd.corrupt");
  EXPECT_EQ(error_of(file("b.txt.zst", "plain\n")).code, "zstd.corrupt");
}

TEST_F(Input, RowsBeforeTheDamageAreRead) {
  const InputOptions options = file("a.txt.gz", gzip("hello\n") + "garbage");
  const auto reader = open_texts(options);
  Text text;
  EXPECT_TRUE(reader->next(text));
  EXPECT_THROW(reader->next(text), Error);
}

TEST_F(Input, WhatIsPlainlyNoUtf8TextIsRefused) {
  EXPECT_EQ(error_of(file("a.txt", gzip("a\n"))).code, "text.encoding");
  EXPECT_EQ(error_of(file("a.txt", zstd("a\n"))).code, "text.encoding");
  EXPECT_EQ(error_of(file("a.txt",
                          "\xFF\xFE"
                          "a"))
                .code,
            "text.encoding");
  EXPECT_EQ(error_of(file("a.txt.gz", gzip("\xFE\xFF"
                                           "a")))
                .code,
            "text.encoding");
}

TEST_F(Input, WhatIsNotAReadableFileIsAProperError) {
  InputOptions options;
  options.path = dir_.file("missing.txt");
  EXPECT_EQ(error_of(options).exit_code, ExitCode::kNoInput);
  options.path = dir_.file("folder.txt");
  std::filesystem::create_directory(options.path);
  EXPECT_EQ(error_of(options).found, "a directory");
  options.path = dir_.file("fifo.txt");
  ASSERT_EQ(::mkfifo(options.path.c_str(), 0600), 0);
  // Opening the FIFO must not wait for a writer.
  EXPECT_EQ(error_of(options).exit_code, ExitCode::kNoInput);
  options.path = "-";
  EXPECT_EQ(error_of(options).code, "text.stdin");
}

TEST_F(Input, AnUnreadableFileIsAPermissionError) {
  const InputOptions options = file("a.txt", "a\n");
  ASSERT_EQ(::chmod(options.path.c_str(), 0), 0);
  // Root may read every file. So if root runs this test, it reads the file as the user nobody.
  const bool root = ::geteuid() == 0;
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(root ? ::seteuid(kNobody) : 0, 0);
  EXPECT_EQ(error_of(options).exit_code, ExitCode::kNoPermission);
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
}

TEST_F(Input, AFileThatShrinksOrGrowsUnderTheReaderIsAnError) {
  for (const int64_t new_size : {100'000, 900'000}) {
    const InputOptions options = file("a.txt", std::string(500'000, '\n'));
    const auto reader = open_texts(options);
    std::filesystem::resize_file(options.path, static_cast<uintmax_t>(new_size));
    Text text;
    try {
      while (reader->next(text)) {
      }
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kIoError);
    }
  }
}

TEST_F(Input, TheScanIsOfTheBytesOnDisk) {
  const std::string bytes = gzip("a\n\nbb\n");
  const InputScan scan = scan_texts(file("a.txt.gz", bytes), {});
  EXPECT_EQ(scan.files.front().sha256, sha256_hex(bytes));
  EXPECT_EQ(scan.file_bytes(), static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(scan.rows_in, 3);
  EXPECT_EQ(scan.rows, 3);
  EXPECT_EQ(scan.empty, 1);
  EXPECT_EQ(scan.text_bytes, 3);
  EXPECT_EQ(scan.longest_bytes, 2);
}

TEST_F(Input, ALimitCutsTheRowsAndNotTheHash) {
  const std::string content = "a\nb\nc\n" + std::string(1'000'000, '\n');
  InputOptions options = file("a.txt", content);
  options.limit_rows = 2;
  EXPECT_THAT(texts_of(options), ElementsAre("a", "b"));
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(scan.rows, 2);
  EXPECT_EQ(scan.files.front().sha256, sha256_hex(content));
}

TEST_F(Input, MaxRowBytesIsChecked) {
  InputOptions options = file("a.txt", "a\n");
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, (int64_t{64} << 20) + 1}) {
    options.max_row_bytes = bad;
    EXPECT_EQ(error_of(options).exit_code, ExitCode::kConfig);
    EXPECT_EQ(error_of(options).code, "text.max_row_bytes");
  }
}

TEST_F(Input, LinesHaveNoFields) {
  InputOptions options = file("a.txt", "a\n");
  options.field = "text";
  EXPECT_EQ(error_of(options).code, "text.field");
}

TEST_F(Input, SeekRefusesRowsThatAreNotThere) {
  const InputOptions options = file("a.txt", "a\nb\n");
  const InputScan scan = scan_texts(options, {});
  const auto reader = open_scanned_texts(options, scan);
  EXPECT_EQ(refused([&] { reader->seek(3); }).code, "text.seek");
  EXPECT_EQ(refused([&] { reader->seek(-1); }).code, "text.seek");
}

// Makes `path` the standard input until the end of a scope.
class StandardInput {
 public:
  explicit StandardInput(const std::string& path) : saved_(::dup(STDIN_FILENO)) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ::dup2(fd.get(), STDIN_FILENO);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() { ::dup2(saved_.get(), STDIN_FILENO); }

 private:
  UniqueFd saved_;
};

TEST_F(Input, StandardInputIsSpooledAndReadTwice) {
  InputOptions options = file("in", "a\nb\n");
  const StandardInput standard_input(options.path);
  options.path = "-";
  options.format = TextFormat::kLines;
  const InputOptions spooled = spool_standard_input(options, dir_.file("spool.txt"));
  EXPECT_EQ(scan_texts(spooled, {}).rows, 2);
  EXPECT_THAT(texts_of(spooled), ElementsAre("a", "b"));
}

TEST_F(Input, StandardInputNeedsAFormat) {
  InputOptions options;
  options.path = "-";
  EXPECT_THROW(spool_standard_input(options, dir_.file("spool.txt")), Error);
  EXPECT_FALSE(std::filesystem::exists(dir_.file("spool.txt")));
}

TEST_F(Input, AFailedReadOfStandardInputLeavesNoSpool) {
  const StandardInput standard_input(dir_.path());  // reading a directory fails with EISDIR
  InputOptions options;
  options.path = "-";
  options.format = TextFormat::kLines;
  EXPECT_THROW(spool_standard_input(options, dir_.file("spool.txt")), Error);
  EXPECT_FALSE(std::filesystem::exists(dir_.file("spool.txt")));
}

}  // namespace
}  // namespace encode::testing
