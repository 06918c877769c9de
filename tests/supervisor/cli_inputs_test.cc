// Tests of `encode run` on inputs of several files, and on Parquet and Arrow files, with the fake
// worker.
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/npy.h"
#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CliInputs : public ::testing::Test {
 protected:
  CliInputs() {
    for (const char* part : {"a", "b"})
      dir_.write(fmt::format("part-{}.jsonl", part), "{\"text\":\"1\"}\n{\"text\":\"2\"}\n");
  }
  // Encodes to out.npy.
  ProgramEnd run(const std::string& input, const std::vector<std::string>& more = {}) {
    return Program(dir_.path(), run_words(input, dir_.file("out.npy"), more)).wait();
  }
  int64_t rows() const { return read_npy_header(dir_.file("out.npy")).rows; }
  Json manifest() const {
    const std::string text = read_bytes(dir_.file("out.npy.manifest.json"));
    return Json::parse(text);
  }
  TempDir dir_;
};

TEST_F(CliInputs, ManifestNamesTheFirstRowOfEachFile) {
  for (const std::vector<std::string>& mode : {std::vector<std::string>{}, {"--standard"}}) {
    const ProgramEnd end = run(dir_.file("part-*.jsonl"), mode);
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_EQ(rows(), 4);
    const Json inputs = {{{"path", dir_.file("part-a.jsonl")}, {"first_row", 0}},
                         {{"path", dir_.file("part-b.jsonl")}, {"first_row", 2}}};
    EXPECT_EQ(manifest().at("inputs"), inputs);
    std::filesystem::remove(dir_.file("out.npy"));
    std::filesystem::remove(dir_.file("out.npy.manifest.json"));
  }
}

TEST_F(CliInputs, StandardInputNeedsNoFormatAndTheLogSaysWhatItIsTakenFor) {
  const auto piped = [&](const std::string& bytes, std::vector<std::string> more) {
    const std::string path = dir_.write("piped", bytes);
    std::vector<std::string> arguments = {
        "run",     "--model",  test_data("models/bert"), "--input", "-",
        "--fresh", "--output", dir_.file("out.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Program(dir_.path(), arguments, {},
                   [&] { ::dup2(::open(path.c_str(), O_RDONLY | O_CLOEXEC), STDIN_FILENO); })
        .wait();
  };
  const ProgramEnd json = piped("[{\"text\":\"a\"}, {\"text\":\"b\"}]", {"--field", "text"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(rows(), 2);
  EXPECT_EQ(manifest().at("fingerprint").at("input").at("format"), "json");
  EXPECT_THAT(json.err,
              HasSubstr("standard input is read as json: it begins with '['. --format sets"));
  const ProgramEnd lines = piped("a,b\nc,d\ne,f\n", {});
  ASSERT_EQ(lines.exit_code, 0) << lines.err;
  EXPECT_EQ(rows(), 3);
  EXPECT_THAT(lines.err, HasSubstr("may also be CSV or TSV"));
  EXPECT_THAT(lines.err, Not(HasSubstr("keyboard")));
  EXPECT_EQ(piped("one text\n", {"--field", "text"}).exit_code, 78);
}

// Texts that are typed on a terminal of this test, and Ctrl-D once. A second read of the terminal
// would wait for ever.
TEST_F(CliInputs, TheKeyboardIsAnnouncedAndEndsWithCtrlD) {
  const UniqueFd keyboard(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_EQ(::grantpt(keyboard.get()), 0);
  ASSERT_EQ(::unlockpt(keyboard.get()), 0);
  const std::string terminal = ::ptsname(keyboard.get());
  const UniqueFd screen(::open(terminal.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  const std::string typed = "one text\nanother text\n\x04";
  ASSERT_EQ(::write(keyboard.get(), typed.data(), typed.size()), std::ssize(typed));
  const ProgramEnd end = Program(dir_.path(),
                                 {"run", "--model", test_data("models/bert"), "--input", "-",
                                  "--format", "lines", "--output", dir_.file("out.npy")},
                                 {}, [&] { ::dup2(screen.get(), STDIN_FILENO); })
                             .wait();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(rows(), 2);
  EXPECT_THAT(end.err, HasSubstr("reading texts from the keyboard; end with Ctrl-D"));
}

TEST_F(CliInputs, WithoutRowsSucceedWithAWarningThatSaysWhy) {
  struct Case {
    const char* name;
    const char* bytes;
    const char* why;
  };
  for (const Case& one :
       {Case{"header.csv", "id,text\n", "header.csv has no rows: check the path, and the format"},
        {"empty.jsonl", "", "empty.jsonl is empty: check the path"},
        {"bad.jsonl", "{\"text\":1}\n", "bad.jsonl has 1 row, and all were rejected"}}) {
    const ProgramEnd end = run(dir_.write(one.name, one.bytes), {"--bad-row", "reject", "--fresh"});
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_EQ(rows(), 0);
    EXPECT_THAT(end.err, HasSubstr("the matrix has no rows, because"));
    EXPECT_THAT(end.err, HasSubstr(one.why));
  }
  EXPECT_THAT(run(dir_.file("part-a.jsonl"), {"--fresh"}).err, Not(HasSubstr("has no rows")));
}

TEST_F(CliInputs, RowsWithoutATextAreCountedInTheLogAndInTheSummary) {
  const std::string path = dir_.write(
      "gaps.jsonl", "{\"text\":\"\"}\n{\"text\":\"  \"}\n{\"text\":\"a\"}\n{\"text\":\"\"}\n");
  const ProgramEnd end = run(path);
  ASSERT_EQ(end.exit_code, 0) << end.err;
  for (const std::string& said : {end.err, end.out})
    EXPECT_THAT(said, HasSubstr("2 rows have an empty text, and 1 row has only white space"));
  EXPECT_THAT(end.err, HasSubstr("--empty-row reject"));
  EXPECT_THAT(end.out, Not(HasSubstr("--empty-row reject"))) << "the warning says what to do";
  EXPECT_THAT(run(path, {"--empty-row", "reject", "--fresh"}).out, Not(HasSubstr("an empty text")));
  EXPECT_THAT(run(dir_.file("part-a.jsonl"), {"--fresh"}).out, Not(HasSubstr("white space")));
}

// The program says what was given in place of a file of texts, and what to do.
TEST_F(CliInputs, ThatAreFoldersOrSpreadsheetsAreNamed) {
  const ProgramEnd folder = run(dir_.path());
  EXPECT_EQ(folder.exit_code, 66);
  EXPECT_THAT(folder.err, HasSubstr("error[text.files]: the input is a folder"));
  EXPECT_THAT(folder.err, HasSubstr("part-a.jsonl, part-b.jsonl"));
  EXPECT_THAT(folder.err, HasSubstr("'" + dir_.file("*.jsonl") + "'"));
  const std::string sheet =
      dir_.write("sheet.xlsx", "PK\x03\x04" + std::string(26, '\0') + "xl/workbook.xml");
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--format", "csv"}}) {
    const ProgramEnd end = run(sheet, more);
    EXPECT_EQ(end.exit_code, 65);
    EXPECT_THAT(end.err, HasSubstr("an Excel workbook"));
    EXPECT_THAT(end.err, HasSubstr("export the sheet as CSV"));
  }
}

// A command that is run twice finds its own output, and touches no other.
TEST_F(CliInputs, TokenizedTwiceAreUpToDate) {
  const std::string ids = dir_.file("ids.jsonl");
  const auto tokenize = [&](const std::string& input, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {
        "tokenize", "--tokenizer", test_data("tokenizer/wordpiece/tokenizer.json"),
        "--input",  input,         "--field",
        "text",     "--output",    ids};
    words.insert(words.end(), more.begin(), more.end());
    return Program(dir_.path(), words).wait();
  };
  const std::string input = dir_.write("data", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n");
  ASSERT_EQ(tokenize(input, {"--format", "jsonl"}).exit_code, 0);
  const std::string bytes = read_bytes(ids);
  const ProgramEnd again = tokenize(input, {"--format", "jsonl"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr(ids + ": up to date"));
  const std::string fewer = dir_.write("fewer.jsonl", "{\"text\":\"a\"}\n");
  const std::string more = dir_.write("more.jsonl", read_bytes(input) + "{\"text\":\"c\"}\n");
  const std::string other = dir_.write("other.jsonl", "{\"text\":\"b\"}\n{\"text\":\"b\"}\n");
  for (const std::string& changed : {fewer, more, other}) {
    const ProgramEnd end = tokenize(changed);
    EXPECT_EQ(end.exit_code, 73) << changed;
    EXPECT_THAT(end.err, HasSubstr("error[output.exists]"));
    EXPECT_THAT(end.err, HasSubstr("another --output, or replace the file with --overwrite"));
    EXPECT_EQ(read_bytes(ids), bytes);
  }
  EXPECT_EQ(tokenize(fewer, {"--overwrite"}).exit_code, 0);
  EXPECT_LT(read_bytes(ids).size(), bytes.size());
  EXPECT_EQ(tokenize("-").exit_code, 64);
}

// As with `encode run`, the error lists the columns.
TEST_F(CliInputs, TokenizedWithoutAFieldNameTheColumns) {
  const std::string csv = dir_.write("t.csv", "id,body\n1,a\n");
  const auto tokenize = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"tokenize",
                                      "--tokenizer",
                                      test_data("tokenizer/wordpiece/tokenizer.json"),
                                      "--input",
                                      csv,
                                      "--output",
                                      dir_.file("ids.jsonl")};
    words.insert(words.end(), more.begin(), more.end());
    return Program(dir_.path(), words).wait();
  };
  const ProgramEnd without = tokenize({});
  EXPECT_EQ(without.exit_code, 64);
  EXPECT_THAT(without.err, HasSubstr("error[config.required]: the input needs a field"));
  EXPECT_THAT(without.err, HasSubstr("which has: id, body"));
  EXPECT_THAT(without.err, HasSubstr("--field NAME"));
  EXPECT_EQ(tokenize({"--field", "body"}).exit_code, 0);
}

TEST_F(CliInputs, OfAnUnknownSuffixNeedAFormat) {
  const std::string path = dir_.write("mine.data", "id,text\n1,a\n");
  const ProgramEnd end = run(path);
  EXPECT_EQ(end.exit_code, 64);
  EXPECT_THAT(end.err, HasSubstr("--format lines|jsonl|json|csv|tsv|parquet|arrow"));
  EXPECT_EQ(run(path, {"--format", "csv"}).exit_code, 0);
}

// The final matrix of another type is made from the float32 matrix and its manifest.
TEST_F(CliInputs, AnotherTypeKeepsTheNamesOfTheFiles) {
  ASSERT_EQ(run(dir_.file("part-*.jsonl"), {"--standard", "--output-dtype", "float16"}).exit_code,
            0);
  EXPECT_EQ(manifest().at("inputs").size(), 2U);
}

// A file that is added, changed or lost between runs is another input.
TEST_F(CliInputs, FilesOfAnotherRunAreAnotherInput) {
  ASSERT_EQ(run(dir_.file("part-*.jsonl")).exit_code, 0);
  EXPECT_EQ(run(dir_.file("part-*.jsonl")).exit_code, 0);
  const auto refused = [&] {
    const ProgramEnd end = run(dir_.file("part-*.jsonl"));
    EXPECT_THAT(end.err, HasSubstr("input.files"));
    return end.exit_code;
  };
  const std::string other = dir_.write("part-c.jsonl", "{\"text\":\"3\"}\n");
  EXPECT_EQ(refused(), 78);
  std::filesystem::remove(other);
  EXPECT_EQ(run(dir_.file("part-*.jsonl")).exit_code, 0);
  dir_.write("part-b.jsonl", "{\"text\":\"1\"}\n{\"text\":\"3\"}\n");
  EXPECT_EQ(refused(), 78);
}

TEST_F(CliInputs, PatternWithoutMatchIsNoInput) {
  const ProgramEnd end = run(dir_.file("none-*.jsonl"));
  EXPECT_EQ(end.exit_code, 66);
  EXPECT_THAT(end.err, HasSubstr("error[text.files]"));
}

TEST_F(CliInputs, OutputNeverReplacesAFileOfThePattern) {
  const std::string text = "{\"text\":\"1\"}\n";
  dir_.write("in-a.npy", text);
  const std::string second = dir_.write("in-b.npy", text);
  const ProgramEnd end =
      Program(dir_.path(), {"run", "--model", test_data("models/bert"), "--field", "text",
                            "--format", "jsonl", "--input", dir_.file("in-*.npy"), "--output",
                            second, "--cache-dir", dir_.file("cache")})
          .wait();
  EXPECT_EQ(end.exit_code, 73) << end.err;
  EXPECT_EQ(read_bytes(second), text);
}

TEST_F(CliInputs, FilesOfPyarrowAndDatasetsAreRead) {
  for (const char* name : {"texts.parquet", "texts.feather", "saved"}) {
    const bool parquet = std::string(name) == "texts.parquet";
    const ProgramEnd end = run(test_data(std::string("arrow/") + name),
                               {"--format", parquet ? "auto" : "arrow", "--cache-dir",
                                dir_.file(std::string("cache-") + name), "--overwrite"});
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_EQ(rows(), 40);
    std::filesystem::remove(dir_.file("out.npy"));
    std::filesystem::remove(dir_.file("out.npy.manifest.json"));
  }
}

// The program in a folder without the plugin: other formats work, and Parquet says what is missing.
TEST_F(CliInputs, WithoutThePluginOnlyParquetAndArrowFail) {
  std::filesystem::create_directory(dir_.file("bin"));
  const std::string program = dir_.file("bin/encode");
  std::filesystem::copy_file(built_file(ENCODE_PROGRAM), program);
  const auto tokenize = [&](const std::string& input) {
    std::vector<std::string> arguments = {
        program,       "tokenize",
        "--tokenizer", test_data("tokenizer/wordpiece/tokenizer.json"),
        "--input",     input,
        "--field",     "text",
        "--output",    dir_.file("ids.jsonl"),
        "--overwrite"};
    return Program(dir_.path(), {}, {},
                   [&] {
                     std::vector<char*> argv;
                     for (std::string& argument : arguments) argv.push_back(argument.data());
                     argv.push_back(nullptr);
                     ::execv(argv[0], argv.data());
                   })
        .wait();
  };
  const ProgramEnd lines = tokenize(dir_.file("part-a.jsonl"));
  EXPECT_EQ(lines.exit_code, 0) << lines.err;
  const ProgramEnd parquet = tokenize(test_data("arrow/texts.parquet"));
  EXPECT_EQ(parquet.exit_code, 69);
  EXPECT_THAT(parquet.err, HasSubstr("error[arrow.plugin]"));
  for (const char* field : {"where", "expected", "found", "hint"})
    EXPECT_THAT(parquet.err, HasSubstr(fmt::format("\n  {} ", field)));
}

}  // namespace
}  // namespace encode::testing
