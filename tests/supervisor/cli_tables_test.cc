// Tests of `encode run` with final matrices in Parquet and Arrow, with the fake worker.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "columnar/matrix_reader.h"
#include "supervisor/experiment.h"
#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

// A run of 23 rows in chunks of 5 rows, whose final matrix is in the cache directory.
class CliTables : public ::testing::Test {
 protected:
  CliTables() {
    std::string lines;
    for (int row = 0; row < 23; ++row)
      lines += fmt::format("{{\"id\":\"k{}\",\"text\":\"row {}\"}}\n", row, row);
    // The stream of a config without an output has the name "embeddings".
    dir_.write("c.yaml", "input: {file: " + dir_.write("in.jsonl", lines) + ", field: text}\n");
  }
  ProgramEnd encode(Arguments arguments) const { return Program(dir_.path(), arguments).wait(); }
  Arguments flags(const std::string& command, const Arguments& more) const {
    Arguments all = {command, "--model", test_data("models/bert"), "--config", dir_.file("c.yaml")};
    if (std::find(more.begin(), more.end(), "--cache-dir") == more.end())
      all.insert(all.end(), {"--cache-dir", dir_.file("cache")});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  ProgramEnd run(const Arguments& more = {}) const {
    Arguments flag = {"--chunk-size", "5"};
    flag.insert(flag.end(), more.begin(), more.end());
    return encode(flags("run", flag));
  }
  ProgramEnd run_table(const std::string& format, const Arguments& more = {}) const {
    Arguments flag = {"--output-format", format, "--columns", "row,text,id"};
    flag.insert(flag.end(), more.begin(), more.end());
    return run(flag);
  }
  std::string final(const std::string& suffix) const {
    return dir_.file("cache/embeddings_embeddings." + suffix);
  }
  // How many chunks the fake worker has encoded so far.
  int64_t encoded() const {
    const std::string path = dir_.file("cache/encoded_chunks");
    if (!fs::exists(path)) return 0;
    const std::string text = read_bytes(path);
    return std::count(text.begin(), text.end(), '\n');
  }
  std::vector<std::string> values(const std::string& path, const std::string& column) const {
    FileBytes file(path);
    const auto reader = open_column(
        file, {.format = path.ends_with(".parquet") ? TextFormat::kParquet : TextFormat::kArrow,
               .path = path,
               .column = column,
               .values = ColumnRequest::Values::kAny});
    std::vector<std::string> values;
    for (ColumnValue value; reader->next(value);) values.emplace_back(value.text);
    return values;
  }
  TempDir dir_;
};

TEST_F(CliTables, HaveTheVectorsOfTheNpyFileAndTheColumns) {
  ASSERT_EQ(run({"--output", dir_.file("a.npy")}).exit_code, 0);
  for (const Arguments& mode : {Arguments{}, {"--standard"}}) {
    for (const char* format : {"parquet", "arrow"}) {
      const std::string path = dir_.file(fmt::format("b{}.{}", mode.size(), format));
      Arguments more = mode;
      more.insert(more.end(), {"--output", path, "--cache-dir", path + ".cache"});
      const ProgramEnd end = run_table(format, more);
      ASSERT_EQ(end.exit_code, 0) << end.err;
      const ProgramEnd compared = encode({"compare", dir_.file("a.npy"), path});
      EXPECT_THAT(compared.out, HasSubstr("identical values"));
      EXPECT_EQ(values(path, "row")[22], "22");
      EXPECT_EQ(values(path, "text")[22], "row 22");
      EXPECT_EQ(values(path, "id")[22], "k22");
      EXPECT_EQ(values(path, "id").size(), 23U);
      EXPECT_FALSE(fs::exists(path + ".float32.npy"));
      EXPECT_EQ(encode({"verify", path}).exit_code, 0);
    }
  }
}

TEST_F(CliTables, OfIntegersAreComparedWithTheNpyFile) {
  const Arguments int8 = {"--output-dtype", "int8", "--output"};
  for (const char* name : {"a.npy", "b.parquet", "c.arrow"}) {
    Arguments more = int8;
    more.insert(more.end(), {dir_.file(name), "--cache-dir", dir_.file(name) + ".cache"});
    ASSERT_EQ(run(more).exit_code, 0);
  }
  for (const char* name : {"b.parquet", "c.arrow"}) {
    const ProgramEnd compared = encode({"compare", dir_.file("a.npy"), dir_.file(name)});
    EXPECT_THAT(compared.out, HasSubstr("identical values")) << compared.err;
    EXPECT_THAT(compared.out, HasSubstr("int8"));
  }
}

TEST_F(CliTables, HaveRenamedColumns) {
  const Arguments flag = {"--output-format", "parquet", "--columns", "n=row,key=/id,text"};
  const ProgramEnd end = run(flag);
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(values(final("parquet"), "n")[22], "22");
  EXPECT_EQ(values(final("parquet"), "key")[22], "k22");
  const ProgramEnd verified = encode(flags("verify", flag));
  EXPECT_EQ(verified.exit_code, 0) << verified.out;
  EXPECT_THAT(run(flag).err, HasSubstr("already done"));
  EXPECT_EQ(run({"--output-format", "parquet", "--columns", "n=row,key=text,text"}).exit_code, 0);
  EXPECT_EQ(values(final("parquet"), "key")[22], "row 22")
      << "a column of the same name from another field is made again";
  EXPECT_EQ(run({"--output-format", "parquet", "--columns", "id,id=text"}).exit_code, 64);
}

TEST_F(CliTables, FinishedOnesAreSkippedVerifiedAndShown) {
  ASSERT_EQ(run_table("parquet").exit_code, 0);
  const std::string bytes = read_bytes(final("parquet"));
  const int64_t chunks = encoded();
  const ProgramEnd again = run_table("parquet");
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.err, HasSubstr("already done"));
  EXPECT_EQ(encoded(), chunks);
  EXPECT_EQ(read_bytes(final("parquet")), bytes);
  const Arguments table = {"--output-format", "parquet", "--columns", "row,text,id"};
  const ProgramEnd verified = encode(flags("verify", table));
  EXPECT_EQ(verified.exit_code, 0) << verified.out;
  const ProgramEnd other = encode(flags("verify", {"--output-format", "parquet"}));
  EXPECT_EQ(other.exit_code, 65);
  EXPECT_THAT(other.out, HasSubstr("expected float32 in parquet, found float32 in parquet with"));
  const ProgramEnd status = encode({"status", dir_.file("cache")});
  EXPECT_THAT(status.out, HasSubstr("23")) << status.err;
}

TEST_F(CliTables, DamagedOnesAreSeenAndMadeAgain) {
  ASSERT_EQ(run_table("parquet").exit_code, 0);
  const std::string bytes = read_bytes(final("parquet"));
  std::string damaged = bytes;
  damaged[damaged.size() / 2] ^= 1;
  write_bytes(final("parquet"), damaged);
  EXPECT_EQ(encode({"verify", final("parquet")}).exit_code, 65);
  EXPECT_EQ(run_table("parquet").exit_code, 0);
  EXPECT_EQ(read_bytes(final("parquet")), bytes);
  EXPECT_EQ(encode({"verify", final("parquet")}).exit_code, 0);
}

// The chunks are gone after the first run, so the new final matrix is made from the old one.
TEST_F(CliTables, AnotherFormatNeedsNoEncoding) {
  ASSERT_EQ(run().exit_code, 0);
  const std::string npy = read_bytes(final("npy"));
  const int64_t chunks = encoded();
  ASSERT_EQ(run_table("arrow").exit_code, 0);
  EXPECT_EQ(read_bytes(final("npy")), npy) << "the old final stays";
  fs::remove(final("npy"));
  fs::remove(final("npy.manifest.json"));
  ASSERT_EQ(run_table("parquet").exit_code, 0);
  EXPECT_EQ(values(final("parquet"), "id")[3], "k3");
  ASSERT_EQ(
      run({"--output-format", "parquet", "--columns", "id", "--output-dtype", "float16"}).exit_code,
      0)
      << "other columns and another type, from the table itself";
  EXPECT_EQ(open_matrix_reader(final("parquet"), Elements::kAny)->item(), ItemType::kFloat16);
  ASSERT_EQ(run().exit_code, 0);
  EXPECT_EQ(read_bytes(final("npy")), npy) << "from the Arrow file";
  EXPECT_EQ(encoded(), chunks);
}

TEST_F(CliTables, RefusalsComeBeforeTheEncoding) {
  const auto refused = [&](const Arguments& more, int exit_code, const std::string& code) {
    const ProgramEnd end = run(more);
    EXPECT_EQ(end.exit_code, exit_code) << end.err;
    EXPECT_THAT(end.err, HasSubstr("error[" + code + "]"));
    for (const char* field : {"where", "expected", "found", "hint"})
      EXPECT_THAT(end.err, HasSubstr(fmt::format("\n  {} ", field)));
    EXPECT_EQ(encoded(), 0);
  };
  refused({"--output-format", "parquet", "--pooling", "none"}, 78, "output.token_vectors");
  refused({"--output-format", "parquet", "--columns", "key"}, 78, "output.column");
  refused({"--columns", "row"}, 64, "config.conflict");
  refused({"--output", dir_.file("x.csv")}, 64, "config.value");
  dir_.write("other.parquet", "notes");
  refused({"--output-format", "parquet", "--output", dir_.file("other.parquet")}, 73,
          "output.exists");
}

// The program in a folder without the plugin.
TEST_F(CliTables, WithoutThePluginNothingIsEncoded) {
  fs::create_directory(dir_.file("bin"));
  fs::copy_file(built_file(ENCODE_PROGRAM), dir_.file("bin/encode"));
  Arguments arguments = flags("run", {"--output-format", "arrow"});
  arguments.insert(arguments.begin(), dir_.file("bin/encode"));
  const ProgramEnd end = Program(dir_.path(), {}, {}, [&] {
                           std::vector<char*> argv;
                           for (std::string& argument : arguments) argv.push_back(argument.data());
                           argv.push_back(nullptr);
                           ::execv(argv[0], argv.data());
                         }).wait();
  EXPECT_EQ(end.exit_code, 69) << end.err;
  EXPECT_THAT(end.err, HasSubstr("error[arrow.plugin]"));
  EXPECT_EQ(encoded(), 0);
}

TEST_F(CliTables, PreflightChecksTheColumns) {
  const ProgramEnd end =
      encode(flags("preflight", {"--output-format", "parquet", "--columns", "key"}));
  EXPECT_THAT(end.out + end.err, HasSubstr("key"));
  EXPECT_NE(end.exit_code, 0);
}

// The combined matrix of tables is the .npy file that the final matrices in .npy give.
TEST(Tables, OfASplitAreCombined) {
  const auto combined = [](MatrixFormat format) {
    Experiment experiment;
    experiment.config.combine = {{.split = "train", .streams = {"tc", "commit"}}};
    experiment.config.store.final_format.file = format;
    const RunResult result = experiment.run();
    EXPECT_EQ(result.exit_code, ExitCode::kOk) << result.log;
    EXPECT_EQ(fs::exists(experiment.cache("train_tc_embeddings.npy")),
              format == MatrixFormat::kNpy);
    return experiment.read(experiment.cache("train_combined_embeddings.npy"));
  };
  const std::string npy = combined(MatrixFormat::kNpy);
  EXPECT_EQ(combined(MatrixFormat::kParquet), npy);
  EXPECT_EQ(combined(MatrixFormat::kArrow), npy);
}

// An input that changes while the rows are encoded is seen before the final matrix is published.
TEST(Tables, OfAnInputThatChangedAreNotPublished) {
  Experiment experiment;
  experiment.config.streams.pop_back();
  experiment.config.store.final_format.file = MatrixFormat::kParquet;
  experiment.config.store.final_format.columns = {{kTextColumn, kTextColumn}};
  bool changed = false;
  experiment.environment.on_event = [&](const WorkerEvent& event) {
    if (changed || !std::holds_alternative<ChunkDone>(event)) return;
    changed = true;
    experiment.write_input("tc", Experiment::kRows, "new");
  };
  const RunResult result = experiment.run();
  EXPECT_TRUE(changed);
  EXPECT_EQ(result.error.code.name(), "text.changed");
  EXPECT_FALSE(fs::exists(experiment.cache("train_tc_embeddings.parquet")));
  experiment.write_input("tc", Experiment::kRows, "tc");
  experiment.environment.on_event = [](const WorkerEvent&) {};
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk) << "the old input is back";
}

}  // namespace
}  // namespace encode::testing
