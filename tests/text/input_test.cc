// Tests of input files: names, compression, damage, and standard input.
#include <cstdlib>
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
#include "base/host.h"
#include "base/refused.h"
#include "base/shell_quote.h"
#include "reading.h"
#include "support/temp_dir.h"
#include "text/encodings.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Input : public ::testing::Test {
 protected:
  InputOptions file(const std::string& name, std::string_view content) {
    InputOptions options;
    options.path = dir_.write(name, content);
    return options;
  }
  // Runs the command in a hint. It must make the file `name` of these texts.
  void expect_converts(const std::string& hint, const std::string& name,
                       const std::vector<std::string>& texts) {
    const size_t begin = hint.find('`') + 1;
    const std::string command = hint.substr(begin, hint.find('`', begin) - begin);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    InputOptions converted;
    converted.path = dir_.file(name);
    EXPECT_EQ(texts_of(converted), texts) << command;
    std::filesystem::remove(converted.path);
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
  EXPECT_EQ(error_of(options).code.name(), "text.format");
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
  EXPECT_EQ(error.code.name(), "io.read");
  EXPECT_EQ(error.exit_code, ExitCode::kIoError);
}

TEST_F(Input, EveryTruncationOfACompressedFileIsAnError) {
  for (const auto& [name, bytes] :
       {std::pair<std::string, std::string>{"a.txt.gz", gzip("hello\nhello world\n")},
        {"a.txt.zst", zstd("hello\nhello world\n")}}) {
    ASSERT_EQ(texts_of(file(name, bytes)).size(), 2U);
    for (size_t size = 1; size < bytes.size(); ++size) {
      const ErrorDetail error = error_of(lenient(file(name, bytes.substr(0, size))));
      EXPECT_EQ(error.exit_code, ExitCode::kData) << name << size;
      EXPECT_THAT(error.code.name(), ::testing::EndsWith(".truncated")) << name << size;
      EXPECT_THAT(error.found, HasSubstr(fmt::format("byte {}", size))) << name << size;
    }
  }
}

TEST_F(Input, AnEmptyFileThatCannotBeReadIsSaidToBeEmpty) {
  for (const char* name : {"a.jsonl.gz", "a.jsonl.zst", "a.parquet", "a.arrow"}) {
    InputOptions options;
    options.path = dir_.write(name, "");
    options.field = "text";
    EXPECT_EQ(error_of(options).found, "no bytes: the file is empty") << name;
    options.path = dir_.write(name, "x");
    EXPECT_THAT(error_of(options).found, Not(HasSubstr("is empty"))) << name;
  }
}

TEST_F(Input, DamageInACompressedFileIsAnErrorWithItsPlace) {
  std::string bytes = gzip(std::string(10000, 'x') + "\n");
  bytes[bytes.size() - 6] ^= 1;  // changes the CRC
  ErrorDetail error = error_of(lenient(file("a.txt.gz", bytes)));
  EXPECT_EQ(error.code.name(), "gzip.corrupt");
  EXPECT_THAT(error.found, HasSubstr("near byte"));
  EXPECT_EQ(error_of(file("b.txt.gz", gzip("a\n") + "garbage")).code.name(), "gzip.corrupt");
  EXPECT_EQ(error_of(file("a.txt.zst", zstd("a\n") + "garbage")).code.name(), "zstd.corrupt");
}

TEST_F(Input, APlainFileNamedAsACompressedOneIsNotCalledDamaged) {
  for (const std::string compression : {"gzip", "zstd"}) {
    const std::string suffix = compression == "gzip" ? ".gz" : ".zst";
    const ErrorDetail error = error_of(file("a.txt" + suffix, "plain\n"));
    EXPECT_EQ(error.code.name(), compression + ".corrupt");
    EXPECT_EQ(error.what, "the file is not compressed with " + compression);
    EXPECT_EQ(error.found, "'plain\\x0a'");
    EXPECT_THAT(error.hint, HasSubstr("remove " + suffix));
  }
}

TEST_F(Input, RowsBeforeTheDamageAreRead) {
  const InputOptions options = file("a.txt.gz", gzip("hello\n") + "garbage");
  const auto reader = open_texts(options);
  Text text;
  EXPECT_TRUE(reader->next(text));
  EXPECT_THROW(reader->next(text), Error);
}

TEST_F(Input, WhatIsPlainlyNoUtf8TextIsRefused) {
  EXPECT_EQ(error_of(file("a.txt", gzip("a\n"))).code.name(), "text.encoding");
  EXPECT_EQ(error_of(file("a.txt", zstd("a\n"))).code.name(), "text.encoding");
  EXPECT_EQ(error_of(file("a.txt",
                          "\xFF\xFE"
                          "a"))
                .code.name(),
            "text.encoding");
  EXPECT_EQ(error_of(file("a.txt.gz", gzip("\xFE\xFF"
                                           "a")))
                .code.name(),
            "text.encoding");
}

// Two Latin characters in UTF-16LE are enough; Python's "utf-16-le" writes no byte order mark.
TEST_F(Input, Utf16WithoutAByteOrderMarkIsRefused) {
  const auto wide = [](std::string_view text, const std::string& before, const std::string& after) {
    std::string bytes;
    for (const char c : text) bytes += before + c + after;
    return bytes;
  };
  const std::string nul(1, '\0');
  for (const std::string& bytes :
       {wide("a\n", "", nul), wide("hello world\n", "", nul), wide("hello world\n", nul, ""),
        wide("hello world\n", "", nul + nul + nul), wide(std::string(9000, 'x'), "", nul)}) {
    const ErrorDetail error = error_of(file("a.txt", bytes));
    EXPECT_EQ(error.code.name(), "text.encoding");
    EXPECT_THAT(error.found, HasSubstr("UTF-"));
    EXPECT_THAT(error.hint, HasSubstr("iconv"));
    EXPECT_EQ(error_of(file("a.txt.gz", gzip(bytes))).code.name(), "text.encoding");
  }
  // A text keeps its NULs. Here 50 % and 80 % of every second byte are NUL, too few for UTF-16.
  for (const std::string& bytes : {"a" + nul + "b\n", wide("abcd", "", nul) + "e\n"})
    EXPECT_EQ(texts_of(file("a.txt", bytes)).size(), 1U);
}

// The command in the hint makes a file that is read.
TEST_F(Input, TheHintConvertsEveryWideEncoding) {
  const std::string plain = file("plain.txt", "caf\xC3\xA9 au lait\nsecond line\n").path;
  for (const char* encoding :
       {"UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32", "UTF-32LE", "UTF-32BE"}) {
    InputOptions wide;
    wide.path = dir_.file("two words.txt");
    const std::string command = shell_command({"iconv", "-f", "UTF-8", "-t", encoding, plain}) +
                                " > " + shell_command({wide.path});
    ASSERT_EQ(std::system(command.c_str()), 0);
    const ErrorDetail error = error_of(wide);
    EXPECT_EQ(error.code.name(), "text.encoding");
    EXPECT_EQ(error.found, std::string(encoding) + ", by its first bytes");
    expect_converts(error.hint, "two words.utf8.txt", {"caf\xC3\xA9 au lait", "second line"});
  }
}

TEST_F(Input, AWindows1252FileGetsTheCommandThatConvertsIt) {
  const std::vector<std::string> texts = {"plain", "caf\xC3\xA9",
                                          "\xE2\x80\x9Cna\xC3\xAFve\xE2\x80\x9D"};
  const std::string bytes = "plain\ncaf\xE9\n\x93na\xEFve\x94\n";
  InputOptions strict = file("my texts.txt", bytes);
  strict.utf8 = Utf8Policy::kError;
  const ErrorDetail error = error_of(strict);
  EXPECT_EQ(error.code.name(), "text.utf8");
  expect_converts(error.hint, "my texts.utf8.txt", texts);
  strict.path = file("my texts.txt.gz", gzip(bytes)).path;
  expect_converts(error_of(strict).hint, "my texts.utf8.txt", texts);
  // Other encodings, and single bytes that were damaged in UTF-8, get no such advice.
  for (const std::string other :
       {"\xCF\xF0\xE8\xE2\xE5\xF2 hello\n", "\xC3\xA9t\xE9\n", "a\x81\n"}) {
    strict.path = file("other.txt", other).path;
    EXPECT_THAT(error_of(strict).hint, ::testing::Not(HasSubstr("iconv"))) << other;
  }
}

TEST_F(Input, ManyRowsThatAreNotUtf8AreSaidToBeAnotherEncoding) {
  const InputOptions few = file("few.txt", "caf\xE9\n" + std::string(198, '\n') + "x\n");
  const ReplacedRows one = describe_replaced_rows(few, scan_texts(few, {}));
  EXPECT_EQ(one.what, "bytes that are not UTF-8 are in 1 of 200 rows, and U+FFFD replaces them");
  EXPECT_THAT(one.advice, ::testing::Not(HasSubstr("iconv")));
  const InputOptions many = file("many.txt", "ok\ncaf\xE9\nna\xEFve\nx\n");
  const ReplacedRows half = describe_replaced_rows(many, scan_texts(many, {}));
  EXPECT_THAT(half.what, HasSubstr("2 of 4 rows (50.0 %)"));
  EXPECT_THAT(half.what, HasSubstr("damaged texts"));
  EXPECT_THAT(half.advice, HasSubstr("`iconv -f WINDOWS-1252 -t UTF-8 " + many.path + " > " +
                                     dir_.file("many.utf8.txt") + "`, or refuse such rows"));
}

TEST_F(Input, AGitLfsPointerIsNamedAsSuch) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') +
      "\nsize 12345\n";
  for (const char* name : {"a.txt", "a.csv", "a.jsonl", "a.jsonl.zst", "a.txt.gz", "a.parquet"}) {
    const ErrorDetail error = error_of(file(name, pointer));
    EXPECT_EQ(error.code.name(), "text.lfs_pointer") << name;
    EXPECT_EQ(error.exit_code, ExitCode::kData) << name;
    EXPECT_THAT(error.hint, HasSubstr("git lfs pull")) << name;
  }
  // A longer text may quote a pointer.
  EXPECT_EQ(texts_of(file("a.txt", pointer + std::string(1024, 'x'))).size(), 4U);
}

// A frame of RFC 8878 that states a window of 2^log bytes and holds `bytes` uncompressed.
std::string frame_with_window(int log, std::string_view bytes) {
  const auto size = static_cast<uint32_t>(bytes.size()) << 3 | 1U;
  std::string frame = "\x28\xB5\x2F\xFD";
  frame += {'\0', static_cast<char>((log - 10) << 3)};
  for (int i = 0; i < 3; ++i) frame += static_cast<char>(size >> (8 * i) & 0xFF);
  return frame.append(bytes);
}

// zstd --long=28 and more; archives of Reddit have windows of 2 GiB (--long=31).
TEST_F(Input, LongWindowsOfZstdAreReadOrNamed) {
  EXPECT_THAT(texts_of(file("a.txt.zst", frame_with_window(27, "a\nb\n"))), ElementsAre("a", "b"));
  const int64_t quarter = host_memory().limit_bytes / 4;
  for (const int log : {28, 29, 30, 31}) {
    const InputOptions options = file("a.txt.zst", zstd("x\n") + frame_with_window(log, "a\nb\n"));
    if (quarter >= int64_t{1} << log) {
      EXPECT_THAT(texts_of(options), ElementsAre("x", "a", "b")) << log;
    } else {
      EXPECT_EQ(error_of(options).code.name(), "zstd.window") << log;
    }
  }
  const ErrorDetail error = error_of(file("a.txt.zst", frame_with_window(32, "a\n")));
  EXPECT_EQ(error.code.name(), "zstd.window");
  EXPECT_EQ(error.exit_code, ExitCode::kData);
  EXPECT_THAT(error.what + error.found, ::testing::Not(HasSubstr("damage")));
}

TEST_F(Input, WhatIsNotAReadableFileIsAProperError) {
  InputOptions options;
  options.path = dir_.file("missing.txt");
  EXPECT_EQ(error_of(options).exit_code, ExitCode::kNoInput);
  options.path = dir_.file("folder.txt");
  std::filesystem::create_directory(options.path);
  EXPECT_THAT(error_of(options).found, HasSubstr("a folder"));
  options.path = dir_.file("fifo.txt");
  ASSERT_EQ(::mkfifo(options.path.c_str(), 0600), 0);
  // Opening the FIFO must not wait for a writer.
  EXPECT_EQ(error_of(options).exit_code, ExitCode::kNoInput);
  options.path = "-";
  EXPECT_EQ(error_of(options).code.name(), "text.stdin");
}

TEST_F(Input, AMissingFileNamesItsFolderAndTheFileThatIsMeant) {
  file("notes.csv", "text\na\n");
  file("part-2.csv", "text\na\n");
  const auto missing = [&](const std::string& path) {
    InputOptions options;
    options.path = path;
    options.field = "text";
    return error_of(options);
  };
  const ErrorDetail typo = missing(dir_.file("note.csv"));
  EXPECT_EQ(typo.found, "no file 'note.csv' in " + dir_.path());
  EXPECT_EQ(typo.hint, "did you mean " + dir_.file("notes.csv") + "?");
  EXPECT_EQ(missing(dir_.file("part-1.csv")).hint, "check the path") << "another file, no typo";
  EXPECT_EQ(missing(dir_.file("none/notes.csv")).found, "no folder " + dir_.file("none"));
  std::filesystem::create_symlink("../gone/notes.csv", dir_.file("link.csv"));
  EXPECT_EQ(missing(dir_.file("link.csv")).found,
            "a symbolic link to '../gone/notes.csv', which does not exist");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir_.path());
  const ErrorDetail relative = missing("notse.csv");
  const ErrorDetail far = missing("data.csv");
  std::filesystem::current_path(before);
  EXPECT_EQ(relative.hint, "did you mean notes.csv?");
  EXPECT_EQ(far.hint,
            "check the path; relative paths start at the current directory, " + dir_.path());
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
    EXPECT_EQ(error_of(options).code.name(), "text.max_row_bytes");
  }
}

TEST_F(Input, LinesHaveNoFields) {
  InputOptions options = file("a.txt", "a\n");
  options.field = "text";
  EXPECT_EQ(error_of(options).code.name(), "text.field");
}

TEST_F(Input, SeekRefusesRowsThatAreNotThere) {
  const InputOptions options = file("a.txt", "a\nb\n");
  const InputScan scan = scan_texts(options, {});
  const auto reader = open_scanned_texts(options, scan);
  EXPECT_EQ(refused([&] { reader->seek(3); }).code.name(), "text.seek");
  EXPECT_EQ(refused([&] { reader->seek(-1); }).code.name(), "text.seek");
}

}  // namespace
}  // namespace encode::testing
