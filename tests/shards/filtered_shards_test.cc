// Tests shards of an input with a filter: what they make together is what one run makes, also the
// numbers of the records.
#include <cstdlib>
#include <fmt/format.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "columnar/columnar.h"
#include "columnar/matrix_reader.h"
#include "shards/sharded.h"

namespace encode::testing {
namespace {

constexpr int64_t kShards = 4;

// Row i is record 3 + 2i, in the second file. The filter drops the whole first file. The second
// stream has the filter of the first one.
void filter(Sharded& experiment) {
  std::string tc;
  std::string commit;
  for (int64_t i = 0; i < Experiment::kRows; ++i) {
    tc +=
        fmt::format("{{\"text\":\"tc row {0}\",\"n\":{0}}}\n{{\"text\":\"other\",\"n\":-1}}\n", i);
    commit += fmt::format("{{\"text\":\"commit row {}\"}}\n{{\"text\":\"other\"}}\n", i);
  }
  const std::string other = "{\"text\":\"other\",\"n\":-1}\n";
  experiment.dir().write("first.jsonl", other + other + other);
  experiment.dir().write("tc.jsonl", tc);
  experiment.dir().write("commit.jsonl", other + other + other + commit);
  std::vector<StreamConfig>& streams = experiment.config.streams;
  InputOptions& input = streams[0].input;
  input.more_paths = {input.path};
  input.path = experiment.dir().file("first.jsonl");
  input.filter.where = "n >= 0";
  streams[1].input.filter = {.where = "n >= 0",
                             .paths = {input.path, input.more_paths.front()},
                             .max_row_bytes = input.max_row_bytes};
}

// The matrices and their source rows.
std::vector<std::string> files_of(const Sharded& experiment) {
  std::vector<std::string> files;
  for (const std::string& name : kNames) {
    const std::string path = experiment.cache(name + "_embeddings.npy");
    files.push_back(read_bytes(path));
    if (name != "train_combined") files.push_back(read_bytes(source_rows_path(path)));
  }
  return files;
}

class FilteredShards : public ::testing::Test {
 protected:
  ~FilteredShards() override { ::unsetenv("FAKE_WORKER_ROW"); }
};

TEST_F(FilteredShards, HaveTheRowsOfOneRunWithoutTheOtherRecords) {
  Sharded experiment;
  filter(experiment);
  experiment.encode(kShards);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
  EXPECT_EQ(verified(experiment.cache("train_tc_embeddings.parts.json")), ExitCode::kOk);
  // Each part has the numbers of its records in the whole input.
  constexpr size_t kHeader = 128;
  std::string numbers;
  for (const PartsList::Entry& part : experiment.list("train_commit").parts)
    numbers += read_bytes(source_rows_path(experiment.cache(part.file))).substr(kHeader);
  Sharded whole;
  filter(whole);
  ASSERT_EQ(whole.run().exit_code, ExitCode::kOk);
  const std::string path = whole.cache("train_commit_embeddings.npy");
  EXPECT_EQ(numbers, read_bytes(source_rows_path(path)).substr(kHeader));
}

TEST_F(FilteredShards, AreJoinedToTheFilesOfOneRun) {
  ::setenv("FAKE_WORKER_ROW", "6", 1);
  for (const OutputType type : {OutputType::kFloat32, OutputType::kUint8}) {
    for (const QuarantinePolicy policy : {QuarantinePolicy::kZeros, QuarantinePolicy::kDrop}) {
      const auto configure = [&](Sharded& experiment) {
        filter(experiment);
        experiment.config.store.final_format.type = type;
        experiment.config.store.quarantine = policy;
      };
      Sharded whole;
      configure(whole);
      ASSERT_EQ(whole.run().exit_code, ExitCode::kOk);
      Sharded experiment;
      configure(experiment);
      experiment.encode(kShards);
      ASSERT_FALSE(experiment.join().code);
      EXPECT_EQ(files_of(experiment), files_of(whole));
    }
  }
}

TEST_F(FilteredShards, OfAnotherFilterBelongToAnotherPlan) {
  Sharded experiment;
  filter(experiment);
  ASSERT_FALSE(experiment.plan(kShards).code);
  for (StreamConfig& stream : experiment.config.streams) stream.input.filter.where = "n > 0";
  EXPECT_TRUE(experiment.run_shard(0).code);
}

// The rows and their texts are the same, but they come from other records.
TEST_F(FilteredShards, SeeThatOtherRecordsAreKept) {
  Sharded experiment;
  filter(experiment);
  ASSERT_FALSE(experiment.plan(kShards).code);
  const std::string path = experiment.dir().file("tc.jsonl");
  const std::string lines = read_bytes(path);
  const size_t first = lines.find('\n') + 1;
  const size_t second = lines.find('\n', first) + 1;
  write_bytes(path,
              lines.substr(first, second - first) + lines.substr(0, first) + lines.substr(second));
  EXPECT_EQ(experiment.run_shard(0).code.name(), "text.changed");
}

std::vector<std::string> column_of(const std::string& path, const std::string& name) {
  FileBytes file(path);
  const auto reader = open_column(file, {.format = TextFormat::kParquet,
                                         .path = path,
                                         .column = name,
                                         .values = ColumnRequest::Values::kAny});
  std::vector<std::string> values;
  for (ColumnValue value; reader->next(value);) values.emplace_back(value.text);
  return values;
}

// An int8 table without given ranges is made again when the ranges of all parts are known.
TEST_F(FilteredShards, HaveTheColumnOfTheRecordsInTables) {
  for (const OutputType type : {OutputType::kFloat32, OutputType::kInt8}) {
    Sharded experiment;
    filter(experiment);
    experiment.config.combine.clear();
    experiment.config.streams.pop_back();
    FinalFormat& format = experiment.config.store.final_format;
    format.type = type;
    format.file = MatrixFormat::kParquet;
    format.columns = {{kSourceRowColumn, kSourceRowSource}, {"id", "n"}, {kRowColumn, kRowColumn}};
    experiment.encode(kShards);
    ASSERT_FALSE(experiment.merge().code);
    std::vector<std::string> records;
    for (const PartsList::Entry& part : experiment.list("train_tc").parts) {
      for (const std::string& value : column_of(experiment.cache(part.file), kSourceRowColumn))
        records.push_back(value);
    }
    std::vector<std::string> expected;
    for (int64_t i = 0; i < Experiment::kRows; ++i) expected.push_back(fmt::to_string(3 + 2 * i));
    EXPECT_EQ(records, expected);
  }
}

}  // namespace
}  // namespace encode::testing
