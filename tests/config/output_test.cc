// Tests the keys of the final matrix's file format and columns: what is read, and what is refused.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/output_types.h"
#include "base/refused.h"
#include "config/load.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunConfig load(const std::string& output, const std::string& input = "{file: a.jsonl, field: t}") {
  const TempDir dir;
  return load_config(dir.write("run.yaml", "semantic: {model: m}\noutput: {" + output +
                                               "}\ninput: " + input + "\n"),
                     {})
      .run;
}

std::vector<std::string> names_of(const FinalFormat& format) {
  std::vector<std::string> names;
  for (const TableColumn& column : format.columns) {
    EXPECT_EQ(column.source, column.name);
    names.push_back(column.name);
  }
  return names;
}

TEST(OutputKeys, AreANpyFileByDefault) { EXPECT_EQ(load("").store.final_format, FinalFormat()); }

TEST(OutputKeys, AcceptEveryType) {
  const auto type = [](std::string_view name) {
    return load_config("", {{"semantic.model", "m", "--model"},
                            {"input.file", "a.txt", "--input"},
                            {"semantic.output_dtype", std::string(name), "--output-dtype"}})
        .run.store.final_format.type;
  };
  for (const auto& [name, value] : kOutputTypes) EXPECT_EQ(type(name), value);
  EXPECT_EQ(refused([&] { type("int4"); }).expected, output_types_in_words());
  EXPECT_EQ(refused([&] { type("bfloat16"); }).what, "a matrix cannot be bfloat16");
}

TEST(OutputKeys, NameTheFormatAndTheColumns) {
  const FinalFormat format =
      load("file: a.parquet, format: parquet, columns: [row, text, /a/b, \"two words\"]")
          .store.final_format;
  EXPECT_EQ(format.file, MatrixFormat::kParquet);
  EXPECT_THAT(names_of(format), ElementsAre("row", "text", "/a/b", "two words"));
  EXPECT_EQ(load("format: arrow").store.final_format.file, MatrixFormat::kArrow);
}

TEST(OutputKeys, TheSuffixOfTheOutputStatesTheFormat) {
  const auto format = [](const std::string& file) {
    return load("file: " + file).store.final_format.file;
  };
  EXPECT_EQ(format("a.npy"), MatrixFormat::kNpy);
  EXPECT_EQ(format("a.parquet"), MatrixFormat::kParquet);
  EXPECT_EQ(format("a.b/c.PARQUET"), MatrixFormat::kParquet);
  for (const char* name : {"a.arrow", "a.feather", "a.ipc"})
    EXPECT_EQ(format(name), MatrixFormat::kArrow) << name;
  EXPECT_EQ(load("file: a.ipc, format: arrow").store.final_format.file, MatrixFormat::kArrow);
  const RunConfig table = load("file: a.parquet, columns: [row, text]");
  EXPECT_THAT(table.store.final_format.columns,
              ElementsAre(TableColumn{"row", "row"}, TableColumn{"text", "text"}));
}

TEST(OutputKeys, AnUnknownSuffixIsRefusedWithTheListOfThoseThatExist) {
  for (const char* name : {"e.csv", "x.lance", "vectors", "a.npz", "a.npy.gz", ".npy", "a.npy/"}) {
    const ErrorDetail error = refused([&] { load(std::string("file: ") + name); });
    EXPECT_EQ(error.code.name(), "config.value") << name;
    EXPECT_EQ(error.exit_code, ExitCode::kConfig);
    EXPECT_EQ(error.expected, "a name that ends in .npy, .parquet, .arrow, .feather or .ipc");
    const auto flag = [&] {
      load_config("", {{"semantic.model", "m", "--model"},
                       {"input.file", "a.txt", "--input"},
                       {"output.file", name, "--output"}});
    };
    EXPECT_EQ(refused(flag).exit_code, ExitCode::kUsage) << name;
    EXPECT_EQ(refused(flag).where, "--output");
  }
}

// The hint is the setting that makes the output a table.
TEST(OutputKeys, ColumnsOfAnNpyFileNeedATable) {
  const ErrorDetail key = refused([] { load("file: out/x.npy, columns: [id]"); });
  EXPECT_EQ(key.code.name(), "config.conflict");
  EXPECT_THAT(key.hint, HasSubstr("give output.file: out/x.parquet, or leave out output.columns"));
  const auto by_flags = [](const std::vector<Override>& more) {
    std::vector<Override> flags = {{"semantic.model", "m", "--model"},
                                   {"input.file", "a.jsonl", "--input"},
                                   {"input.field", "t", "--field"},
                                   {"output.columns", "id", "--columns"}};
    flags.insert(flags.end(), more.begin(), more.end());
    return refused([&] { load_config("", flags); }).hint;
  };
  EXPECT_THAT(by_flags({{"output.file", "x.npy", "--output"}}),
              HasSubstr("give --output x.parquet, or leave out --columns"));
  EXPECT_THAT(by_flags({}), HasSubstr("give --output-format parquet"));
}

TEST(OutputKeys, RenameColumns) {
  const FinalFormat format =
      load(
          "file: a.parquet, format: parquet, columns: [\"name=/meta/package\", n=row, body=text, "
          "\"x=a=b\", old=embedding]")
          .store.final_format;
  EXPECT_THAT(format.columns,
              ElementsAre(TableColumn{"name", "/meta/package"}, TableColumn{"n", "row"},
                          TableColumn{"body", "text"}, TableColumn{"x", "a=b"},
                          TableColumn{"old", "embedding"}));
  EXPECT_EQ(describe(format),
            "float32 in parquet with name=/meta/package, n=row, body=text, x=a=b, old=embedding");
  for (const TableColumn& column : format.columns)
    EXPECT_EQ(parse_table_column(describe(column)), column);
}

TEST(OutputKeys, ThatNameAColumnTwiceOrNotAtAllAreRefused) {
  for (const auto& [columns, what] :
       {std::pair{"[a, \"a=/b\"]", "two columns have the same name"},
        std::pair{"[\"a=x\", \"a=y\"]", "two columns have the same name"},
        std::pair{"[\"=x\"]", "a column has no name or no source"},
        std::pair{"[\"x=\"]", "a column has no name or no source"},
        std::pair{"[\"=\"]", "a column has no name or no source"},
        std::pair{"[\"embedding=x\"]", "the column of the vectors has this name already"},
        std::pair{"[\"row=x\"]", "the names row and text have a meaning of their own"},
        std::pair{"[\"text=row\"]", "the names row and text have a meaning of their own"}}) {
    const ErrorDetail error =
        refused([&, list = std::string(columns)] { load("format: parquet, columns: " + list); });
    EXPECT_EQ(error.code.name(), "config.conflict") << columns;
    EXPECT_EQ(error.what, what) << columns;
  }
}

TEST(OutputKeys, OfFlagsOverrideTheFile) {
  const TempDir dir;
  const std::string path = dir.write("run.yaml",
                                     "semantic: {model: m}\noutput: {format: arrow}\n"
                                     "input: {file: a.jsonl, field: t}\n");
  const FinalFormat format =
      load_config(path, {{.key = "output.format", .value = "parquet", .flag = "--output-format"},
                         {.key = "output.columns", .value = "row,id", .flag = "--columns"}})
          .run.store.final_format;
  EXPECT_EQ(format.file, MatrixFormat::kParquet);
  EXPECT_THAT(names_of(format), ElementsAre("row", "id"));
}

TEST(OutputKeys, ThatDoNotFitAreRefused) {
  const auto code = [](const std::string& output, const std::string& input) {
    const ErrorDetail error = refused([&] { load(output, input); });
    EXPECT_EQ(error.exit_code, ExitCode::kConfig) << output;
    return std::string(error.code.name());
  };
  const std::string jsonl = "{file: a.jsonl, field: t}";
  const std::string lines = "{file: a.txt}";
  EXPECT_EQ(code("format: feather", jsonl), "config.value");
  EXPECT_EQ(code("columns: [row]", jsonl), "config.conflict") << "a .npy file has no columns";
  EXPECT_EQ(code("format: parquet, columns: [embedding]", jsonl), "config.conflict");
  EXPECT_EQ(code("format: parquet, columns: [row, row]", jsonl), "config.value");
  EXPECT_EQ(code("format: parquet, columns: [id]", lines), "config.conflict");
  EXPECT_EQ(code("format: parquet, file: a.npy", jsonl), "config.conflict");
  EXPECT_EQ(code("format: arrow, file: a.parquet", jsonl), "config.conflict");
  EXPECT_EQ(code("format: npy, file: a.parquet", jsonl), "config.conflict");
  EXPECT_EQ(code("file: a.npy, columns: [row]", jsonl), "config.conflict");
  EXPECT_EQ(load("format: parquet, columns: [row, text]", lines).store.final_format.columns.size(),
            2U);
}

}  // namespace
}  // namespace encode::testing
