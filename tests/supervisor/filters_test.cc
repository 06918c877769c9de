// Tests runs with a filter of the rows, with the fake worker.
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "base/json.h"
#include "supervisor/cli_table.h"
#include "supervisor/experiment.h"
#include "supervisor/program.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kNpyHeader = 128;

// Returns the numbers in the file of source rows beside a matrix.
std::vector<int64_t> source_rows(const std::string& matrix) {
  const std::string bytes = read_bytes(source_rows_path(matrix));
  std::vector<int64_t> numbers((bytes.size() - kNpyHeader) / sizeof(int64_t));
  std::memcpy(numbers.data(), bytes.data() + kNpyHeader, numbers.size() * sizeof(int64_t));
  return numbers;
}

// The texts of its first stream are those of an Experiment, with one more record after each of
// them, which the filter drops. The filter of the second stream reads the input of the first one.
class FilterExperiment : public Experiment {
 public:
  static constexpr const char* kWhere = "keep == true";
  FilterExperiment() {
    write_records("tc");
    std::string lines;
    for (int64_t i = 0; i < 2 * kRows; ++i) lines += fmt::format("{{\"text\":\"commit {}\"}}\n", i);
    dir().write("commit.jsonl", lines);
    for (StreamConfig& stream : config.streams) {
      stream.input.field = "text";
      stream.input.filter.where = kWhere;
    }
    InputFilter& other = config.streams[1].input.filter;
    other.paths = {config.streams[0].input.path};
    other.max_row_bytes = 1 << 20;
  }
  // Record 2i is row i.
  void write_records(const std::string& word, int64_t first_kept = 0) const {
    std::string lines;
    for (int64_t i = 0; i < kRows; ++i) {
      const std::string kept = fmt::format("{{\"text\":\"{} row {}\",\"keep\":true}}\n", word, i);
      const std::string dropped = fmt::format("{{\"text\":\"other {}\",\"keep\":false}}\n", i);
      lines += i < first_kept ? dropped + kept : kept + dropped;
    }
    dir().write("tc.jsonl", lines);
  }
};

std::vector<int64_t> even_numbers() {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < Experiment::kRows; ++i) numbers.push_back(2 * i);
  return numbers;
}

TEST(Filters, GiveTheBytesOfTheInputWithoutTheOtherRecords) {
  for (const bool chunked : {true, false}) {
    FilterExperiment experiment;
    experiment.config.store.use_chunked_encoding = chunked;
    const RunResult result = experiment.run();
    ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error.what;
    EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
    EXPECT_EQ(source_rows(experiment.tc()), even_numbers());
    EXPECT_EQ(source_rows(experiment.commit()), even_numbers());
    EXPECT_THAT(result.log, HasSubstr("the filter left out 17 of 34 records"));
    EXPECT_THAT(result.out, HasSubstr("rows read = written + rejected + filtered"));
    EXPECT_FALSE(std::filesystem::exists(experiment.tc() + ".float32.npy"));
    EXPECT_THAT(experiment.run().log, HasSubstr("already done"));
  }
}

TEST(Filters, AKilledRunGoesOnToTheSameBytes) {
  FilterExperiment experiment;
  experiment.config.hardware.max_restarts = 0;
  EXPECT_NE(experiment.run("crash:2:1").exit_code, ExitCode::kOk);
  EXPECT_THAT(experiment.take_encoded_chunks(), ElementsAre(0, 1));
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  EXPECT_THAT(experiment.take_encoded_chunks(), ElementsAre(2, 3, 0, 1, 2, 3));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
  EXPECT_EQ(source_rows(experiment.tc()), even_numbers());
}

TEST(Filters, AnotherFilterOrOtherRecordsAreAnotherInput) {
  for (const std::string changed : {"filter", "no filter", "records"}) {
    FilterExperiment experiment;
    experiment.config.hardware.max_restarts = 0;
    EXPECT_NE(experiment.run("crash:2:1").exit_code, ExitCode::kOk);
    experiment.take_encoded_chunks();
    InputFilter& filter = experiment.config.streams[0].input.filter;
    if (changed == "filter") filter.where = "keep";
    if (changed == "no filter") filter.where = "";
    if (changed == "records") experiment.write_records("tc", 3);
    const RunResult refused = experiment.run();
    EXPECT_EQ(refused.exit_code, ExitCode::kConfig) << changed;
    EXPECT_TRUE(experiment.take_encoded_chunks().empty()) << changed;
  }
}

// The file of the second stream and its rows in number are unchanged, but its rows are others.
TEST(Filters, OfAnotherStreamBelongToTheFingerprint) {
  FilterExperiment experiment;
  std::swap(experiment.config.streams[0], experiment.config.streams[1]);
  experiment.config.hardware.max_restarts = 0;
  EXPECT_NE(experiment.run("crash:2:1").exit_code, ExitCode::kOk);
  EXPECT_THAT(experiment.take_encoded_chunks(), ElementsAre(0, 1));
  experiment.write_records("tc", 3);
  const RunResult refused = experiment.run();
  EXPECT_EQ(refused.exit_code, ExitCode::kConfig);
  EXPECT_THAT(refused.error.found, HasSubstr("kept_records"));
}

TEST(Filters, ThatKeepNothingMakeAnEmptyMatrix) {
  FilterExperiment experiment;
  for (StreamConfig& stream : experiment.config.streams) stream.input.filter.where = "kept == true";
  const RunResult result = experiment.run();
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error.what;
  EXPECT_EQ(experiment.read(experiment.tc()).size(), kNpyHeader);
  EXPECT_TRUE(source_rows(experiment.tc()).empty());
  EXPECT_THAT(result.log, HasSubstr("the filter keeps none of them: kept == true"));
  EXPECT_THAT(result.log, HasSubstr("has 'kept', so it is null in the filter"));
  EXPECT_THAT(result.log, HasSubstr("34 of them because a field of the filter is missing or null"));
}

TEST(Filters, TheRowsOfDroppedRowsAreLeftOutOfTheSourceRows) {
  FilterExperiment experiment;
  experiment.config.streams.pop_back();
  experiment.config.combine.clear();
  experiment.config.store.quarantine = QuarantinePolicy::kDrop;
  ::setenv("FAKE_WORKER_ROW", "4", 1);  // row 5 cannot be encoded
  const RunResult result = experiment.run();
  ::unsetenv("FAKE_WORKER_ROW");
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << result.error.what;
  std::vector<int64_t> rows = even_numbers();
  rows.erase(rows.begin() + 5);
  EXPECT_EQ(source_rows(experiment.tc()), rows);
}

TEST(Filters, AMatrixWithoutAFilterHasNoTraceOfOne) {
  Experiment experiment;
  const RunResult result = experiment.run();
  ASSERT_EQ(result.exit_code, ExitCode::kOk);
  EXPECT_FALSE(std::filesystem::exists(source_rows_path(experiment.tc())));
  const std::string manifest = experiment.read(manifest_path(experiment.tc()));
  for (const char* word : {"\"source_rows\"", "\"where\"", "\"kept_records\"", "\"filtered\""})
    EXPECT_THAT(manifest, Not(HasSubstr(word)));
  EXPECT_THAT(result.out + result.log, Not(HasSubstr("filter ")));
}

// A file of the user that has the name of the source rows is neither deleted nor overwritten.
TEST(Filters, AForeignFileIsKept) {
  for (const bool finished : {false, true}) {
    FilterExperiment experiment;
    const std::string path = source_rows_path(experiment.tc());
    if (finished) {
      for (StreamConfig& stream : experiment.config.streams) stream.input.filter = {};
      ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
      experiment.config.store.fresh = true;
    }
    std::filesystem::create_directories(experiment.dir().file("cache"));
    write_bytes(path, "mine");
    EXPECT_NE(experiment.run().exit_code, ExitCode::kOk) << finished;
    EXPECT_EQ(read_bytes(path), "mine") << finished;
  }
}

// Every command that reads the texts of a run applies its filter.
class CliFilters : public CliTable {
 protected:
  CliFilters()
      : CliTable({"--field", "title", "--where", "n >= 7 and n != 9", "--columns", "row,id"}) {}
};

TEST_F(CliFilters, AreAppliedByEveryCommand) {
  EXPECT_THAT(encode("preflight", {"--verbose"}).out, HasSubstr("green   input out"));
  for (const char* command : {"plan", "run"}) {
    const ProgramEnd end = encode(command);
    EXPECT_EQ(end.exit_code, 0) << command << end.out << end.err;
    EXPECT_THAT(end.out + end.err, HasSubstr("15")) << command;
  }
  const std::string out = dir_.file("out.parquet");
  const ProgramEnd found = other({"search", out, "T10", "--model", kModel});
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("k10"));
  const ProgramEnd report = other({"report", out, "--output", dir_.file("page.html")});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  // The vectors of the fake worker do not have norm 1.
  const std::string verified = encode("verify").out;
  EXPECT_THAT(verified, HasSubstr("FAILED  out  norms"));
  for (const char* check : {"FAILED  out  rows", "FAILED  out  fingerprint", "source_rows"})
    EXPECT_THAT(verified, Not(HasSubstr(check)));
  const ProgramEnd with_other_filter =
      other({"verify", "--model", kModel, "--input", dir_.file("in.jsonl"), "--field", "title",
             "--where", "n >= 7", "--output", out, "--columns", "row,id"});
  EXPECT_THAT(with_other_filter.out, HasSubstr("FAILED  out  rows"));
  EXPECT_THAT(with_other_filter.out, HasSubstr("FAILED  out  fingerprint"));
}

TEST_F(CliFilters, AreAppliedToStandardInput) {
  const std::string table = dir_.write("piped", "title,n\nT,1\nU,2\n");
  const ProgramEnd end =
      Program(dir_.path(),
              {"run", "--model", kModel, "--input", "-", "--field", "title", "--where", "n > 1",
               "--output", dir_.file("out.npy")},
              {}, [&] { ::dup2(::open(table.c_str(), O_RDONLY | O_CLOEXEC), STDIN_FILENO); })
          .wait();
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(source_rows(dir_.file("out.npy")), ElementsAre(1));
}

TEST_F(CliFilters, RefuseAnErrorOfTheCommandLine) {
  for (const char* command : {"run", "tokenize"}) {
    const auto end_of = [&](const std::string& input, const std::string& where) {
      return other({command, "--model", kModel, "--input", dir_.file(input), "--field", "title",
                    "--where", where, "--output", dir_.file("new.npy")});
    };
    const ProgramEnd syntax = end_of("in.jsonl", "n => 1");
    EXPECT_EQ(syntax.exit_code, 64) << command;
    EXPECT_THAT(syntax.err, HasSubstr("character 4"));
    EXPECT_EQ(end_of("in.txt", "n == 1").exit_code, 64) << command;
    const ProgramEnd type = end_of("in.jsonl", "n == 'x'");
    EXPECT_EQ(type.exit_code, 65) << command;
    EXPECT_THAT(type.err, HasSubstr("in.jsonl:1"));
  }
}

}  // namespace
}  // namespace encode::testing
