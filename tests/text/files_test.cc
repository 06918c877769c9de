// Tests of inputs of several files: lists, patterns and folders of datasets.save_to_disk.
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/refused.h"
#include "reading.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Files : public ::testing::Test {
 protected:
  InputOptions input(const std::string& path) const {
    InputOptions options;
    options.path = dir_.file(path);
    return options;
  }
  // Writes part-0.txt to part-2.txt of 1,500 rows each, so that blocks of rows span files.
  InputOptions parts() {
    for (int part = 0; part < 3; ++part) {
      std::string lines;
      for (int row = 0; row < 1500; ++row) lines += fmt::format("{}-{}\n", part, row);
      dir_.write(fmt::format("part-{}.txt", part), lines);
    }
    return input("part-*.txt");
  }
  TempDir dir_;
};

TEST_F(Files, PatternIsSortedByNameAndAListKeepsItsOrder) {
  for (const char* name : {"b.txt", "a.txt", "c.txt", "B.txt"}) dir_.write(name, name);
  EXPECT_THAT(texts_of(input("?.txt")), ElementsAre("B.txt", "a.txt", "b.txt", "c.txt"));
  InputOptions list = input("c.txt");
  list.more_paths = {dir_.file("[ab].txt"), dir_.file("c.txt")};
  EXPECT_THAT(texts_of(list), ElementsAre("c.txt", "a.txt", "b.txt", "c.txt"));
}

// The lists beside a matrix are no texts. A file of the user may have such a name, too.
TEST_F(Files, APatternLeavesOutWhatEncodeHasWritten) {
  const std::vector<std::string> own = {"x.truncated.jsonl", "x.rejected.jsonl",
                                        "x.set_aside.jsonl", "y.parquet.truncated.jsonl"};
  for (const std::string& name : own) dir_.write(name, "{\"t\":\"" + name + "\"}\n");
  dir_.write("texts.jsonl", "{\"t\":\"a\"}\n");
  dir_.write("mine.truncated.jsonl", "{\"t\":\"b\"}\n");
  InputOptions all = input("*.jsonl");
  all.field = "t";
  EXPECT_EQ(texts_of(all).size(), 6U) << "there is no matrix";
  for (const char* name : {"x.npy", "x.npy.manifest.json", "y.parquet", "y.parquet.manifest.json"})
    dir_.write(name, "");
  EXPECT_THAT(texts_of(all), ElementsAre("b", "a"));
  InputOptions named = input("x.rejected.jsonl");
  named.field = "t";
  EXPECT_THAT(texts_of(named), ElementsAre("x.rejected.jsonl"));
  InputOptions none = input("*.set_aside.jsonl");
  none.field = "t";
  EXPECT_EQ(error_of(none).code.name(), "text.files");
  EXPECT_THAT(error_of(none).found, HasSubstr("only files that encode has written"));
  const ErrorDetail folder = error_of(input("."));
  EXPECT_THAT(folder.found, HasSubstr("2 files of texts: mine.truncated.jsonl, texts.jsonl"));
}

TEST_F(Files, NameOfAFileIsNoPattern) {
  dir_.write("a[1].txt", "literal");
  dir_.write("a1.txt", "pattern");
  EXPECT_THAT(texts_of(input("a[1].txt")), ElementsAre("literal"));
  std::filesystem::remove(dir_.file("a[1].txt"));
  EXPECT_THAT(texts_of(input("a[1].txt")), ElementsAre("pattern"));
}

TEST_F(Files, EachFileHasItsOwnCompressionAndLines) {
  dir_.write("a.txt", "\xEF\xBB\xBFx\ny");
  dir_.write("b.txt.gz", gzip("z\n"));
  dir_.write("c.txt", "");
  dir_.write("d.txt.zst", zstd("w"));
  InputOptions list = input("a.txt");
  list.more_paths = {dir_.file("[bcd].txt*")};
  list.format = TextFormat::kLines;
  const auto reader = open_texts(list);
  std::vector<std::string> places;
  for (Text text; reader->next(text);) {
    EXPECT_EQ(text.row, std::ssize(places));
    places.push_back(std::filesystem::path(text.place()).filename().string() + " " + text.utf8);
  }
  EXPECT_THAT(places, ElementsAre("a.txt:1 x", "a.txt:2 y", "b.txt.gz:1 z", "d.txt.zst:1 w"));
}

TEST_F(Files, ScanNamesEachFileAndItsFirstRow) {
  const InputScan scan = scan_texts(parts(), {});
  EXPECT_EQ(scan.rows, 4500);
  ASSERT_EQ(scan.files.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    const std::string bytes = read_bytes(scan.files[i].path);
    EXPECT_EQ(scan.files[i].path, dir_.file(fmt::format("part-{}.txt", i)));
    EXPECT_EQ(scan.files[i].first_row, 1500 * static_cast<int64_t>(i));
    EXPECT_EQ(scan.files[i].bytes, std::ssize(bytes));
    EXPECT_EQ(scan.files[i].sha256, sha256_hex(bytes));
  }
}

TEST_F(Files, EveryRowCanBeSought) {
  const InputOptions options = parts();
  const InputScan scan = scan_texts(options, {});
  const auto reader = open_scanned_texts(options, scan);
  Text text;
  for (const int64_t row : {4499, 0, 1499, 1500, 2999, 3000, 1, 4000}) {
    reader->seek(row);
    ASSERT_TRUE(reader->next(text));
    EXPECT_EQ(text.utf8, fmt::format("{}-{}", row / 1500, row % 1500));
    EXPECT_EQ(text.place(), fmt::format("{}:{}", dir_.file(fmt::format("part-{}.txt", row / 1500)),
                                        row % 1500 + 1));
  }
}

TEST_F(Files, LimitOfRowsCountsOverAllFilesAndAllAreHashed) {
  InputOptions options = parts();
  const InputScan all = scan_texts(options, {});
  options.limit_rows = 1600;
  const InputScan limited = scan_texts(options, {});
  EXPECT_EQ(limited.rows, 1600);
  ASSERT_EQ(limited.files.size(), 3U);
  EXPECT_EQ(limited.files[2].sha256, all.files[2].sha256);
  EXPECT_EQ(limited.files[2].first_row, 1600);
}

TEST_F(Files, BadRowNamesItsFile) {
  dir_.write("1.jsonl", "{\"t\":\"x\"}\n");
  dir_.write("2.jsonl", "{\"t\":\"y\"}\n{\"t\":null}\n");
  InputOptions options = input("*.jsonl");
  options.field = "t";
  EXPECT_EQ(error_of(options).where, dir_.file("2.jsonl") + ":2");
  std::vector<std::string> rejected;
  scan_texts(lenient(options), [&](const RejectedRow& row) {
    rejected.push_back(fmt::format("{} {}:{}", row.record, row.file, row.line));
  });
  EXPECT_THAT(rejected, ElementsAre("2 " + dir_.file("2.jsonl") + ":2"));
}

// A file that appears after the scan does not count, and a file that is changed or lost does.
TEST_F(Files, ScannedInputIsTheOneOfTheScan) {
  const InputOptions options = parts();
  const InputScan scan = scan_texts(options, {});
  dir_.write("part-1b.txt", "new\n");
  const auto read_all = [&] {
    const auto reader = open_scanned_texts(options, scan);
    int64_t rows = 0;
    for (Text text; reader->next(text);) ++rows;
    return rows;
  };
  EXPECT_EQ(read_all(), 4500);
  dir_.write("part-2.txt", std::string(15'000, 'x'));
  EXPECT_EQ(refused(read_all).code.name(), "text.changed");
  std::filesystem::remove(dir_.file("part-2.txt"));
  const ErrorDetail lost = refused(read_all);
  EXPECT_EQ(lost.code.name(), "text.changed");
  EXPECT_THAT(lost.where, HasSubstr("part-2.txt"));
}

TEST_F(Files, RefusesWhatIsNoInput) {
  const ErrorDetail none = error_of(input("none-*.txt"));
  EXPECT_EQ(none.code.name(), "text.files");
  EXPECT_EQ(none.exit_code, ExitCode::kNoInput);
  EXPECT_EQ(error_of(input("none.txt")).code.name(), "text.open");
  dir_.write("folder/a.txt", "x");
  EXPECT_EQ(error_of(input("folder")).code.name(), "text.files");
  InputOptions many = input("none.txt");
  many.more_paths.assign(1'000'000, "none.txt");
  const ErrorDetail too_many = error_of(many);
  EXPECT_EQ(too_many.code.name(), "text.files");
  EXPECT_EQ(too_many.exit_code, ExitCode::kConfig);
}

TEST_F(Files, MoreThanTenThousandAreRead) {
  constexpr size_t kFiles = 10'002;
  for (size_t i = 0; i < kFiles; ++i) dir_.write(fmt::format("many/{}.txt", i), "a\nb\n");
  const InputOptions options = input("many/*.txt");
  const InputScan scan = scan_texts(options, {});
  EXPECT_EQ(scan.rows, 2 * std::ssize(scan.files));
  ASSERT_EQ(scan.files.size(), kFiles);
  EXPECT_EQ(scan.files[1].path, dir_.file("many/1.txt"));
  EXPECT_EQ(scan.files[2].path, dir_.file("many/10.txt")) << "sorted by the bytes of the paths";
  EXPECT_EQ(scan.files.index_of_row(7), 3U);
  const auto reader = open_scanned_texts(options, scan);
  reader->seek(2 * std::ssize(scan.files) - 1);
  Text text;
  ASSERT_TRUE(reader->next(text));
  EXPECT_EQ(text.place(), dir_.file("many/9999.txt") + ":2");
}

TEST_F(Files, OfAFolderAreNamedInTheError) {
  for (const char* name : {"folder/b.csv", "folder/a.csv", "folder/c.jsonl.gz",
                           "folder/.hidden.csv", "folder/README.md"})
    dir_.write(name, "x");
  const ErrorDetail error = error_of(input("folder"));
  EXPECT_THAT(error.found, HasSubstr("3 files of texts: a.csv, b.csv, c.jsonl.gz"));
  EXPECT_THAT(error.hint, HasSubstr(dir_.file("folder/a.csv")));
  EXPECT_THAT(error.hint, HasSubstr("'" + dir_.file("folder/*.csv") + "'"));
  dir_.write("empty/deeper/a.csv", "x");
  EXPECT_THAT(error_of(input("empty")).hint, HasSubstr("deeper"));
}

TEST_F(Files, OfOtherProgramsAreRefusedWithWhatToDo) {
  const std::string member = "PK\x03\x04" + std::string(26, '\0');
  const std::string types = member + "[Content_Types].xml<Types/>";
  struct Case {
    const char* name;
    std::string bytes;
    const char* found;
    const char* hint;
  };
  for (const Case& one : std::vector<Case>{
           {"a.xlsx", types + member + "xl/workbook.xml", "an Excel workbook",
            "CSV (UTF-8) or Parquet"},
           {"a.csv", types + member + "xl/workbook.xml", "an Excel workbook", "CSV"},
           {"a.xlsx", types, "an Excel workbook", "CSV"},
           {"a.xls", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 x", "an Excel workbook", "CSV"},
           {"a.ods", member + "mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
            "an OpenDocument spreadsheet", "CSV"},
           {"a.docx", member + "word/document.xml", "a Word document", "plain text"},
           {"a.txt", "%PDF-1.7\n", "a PDF document", "plain text"},
           {"a.zip", member + "a.csv", "a ZIP archive", "unpack"},
           {"a.tar", std::string(257, 'a') + "ustar", "a tar archive", "unpack"},
           {"a.txt", std::string(257, 'a') + "ustar", "a tar archive", "unpack"},
           {"a.jsonl.bz2", "BZh91AY&SY", "a bzip2 file", "gzip"}}) {
    InputOptions options;
    options.path = dir_.write(one.name, one.bytes);
    const ErrorDetail error = error_of(options);
    EXPECT_EQ(error.code.name(), "text.encoding") << one.name;
    EXPECT_THAT(error.found, HasSubstr(one.found)) << one.name;
    EXPECT_THAT(error.hint, HasSubstr(one.hint)) << one.name;
  }
  EXPECT_EQ(error_of(input("missing.xlsx")).code.name(), "text.encoding") << "by its suffix";
  dir_.write("notes.db", "a text\n");
  EXPECT_EQ(error_of(input("notes.db")).code.name(), "text.format") << "a text, by its content";
}

TEST_F(Files, FolderOfASavedDataSetListsItsFiles) {
  const auto state = [&](const std::string& content) {
    dir_.write("saved/state.json", content);
    const PathList files = input_files(input("saved"));
    return std::vector<std::string>(files.begin(), files.end());
  };
  EXPECT_THAT(state(R"({"_data_files":[{"filename":"b.arrow"},{"filename":"a.arrow"}]})"),
              ElementsAre(dir_.file("saved/b.arrow"), dir_.file("saved/a.arrow")));
  for (const char* bad :
       {"{}", "[]", "x", R"({"_data_files":[]})", R"({"_data_files":[7]})",
        R"({"_data_files":[{"filename":"../a.arrow"}]})",
        R"({"_data_files":[{"filename":"a.arrow","skip":5,"take":5}]})",
        R"({"_data_files":[{"filename":"a.arrow"}],"_indices_data_files":"i"})",
        R"({"_data_files":[{"filename":"a.arrow"}],"_indices_data_files":[{"filename":"i"}]})"}) {
    EXPECT_EQ(refused([&] { state(bad); }).code.name(), "text.files") << bad;
  }
  // datasets 1.2.1 and older (huggingface/datasets#571), and null as in later versions
  for (const char* good :
       {R"({"_data_files":[{"filename":"a.arrow"}],"_indices_data_files":[],"_split":null})",
        R"({"_data_files":[{"filename":"a.arrow"}],"_indices_data_files":null})",
        R"({"_data":null,"_indices":null,"_indices_data_files":[],"_inplace_history":[{}],)"
        R"("_data_files":[{"filename":"a.arrow","skip":0,"take":87599}]})"}) {
    EXPECT_THAT(state(good), ElementsAre(dir_.file("saved/a.arrow"))) << good;
  }
  dir_.write("dict/dataset_dict.json", R"({"splits":["train"]})");
  EXPECT_THAT(error_of(input("dict")).hint, HasSubstr("dict/train"));
}

}  // namespace
}  // namespace encode::testing
