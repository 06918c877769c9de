// Tests tables that shards write, with columns that are copied from the input.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "columnar/matrix_reader.h"
#include "shards/sharded.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kRows = 2000;  // two blocks of rows, see InputScan::Checkpoint

// The vectors and the columns of tables, row by row.
struct Table {
  std::string vectors;
  std::vector<std::string> values;
  bool operator==(const Table&) const = default;

  void add(const std::string& path, const std::vector<TableColumn>& columns) {
    const auto reader = open_matrix_reader(path, Elements::kAny);
    for (auto rows = reader->next_bytes(100); !rows.empty(); rows = reader->next_bytes(100))
      vectors.append(reinterpret_cast<const char*>(rows.data()), rows.size());
    for (const TableColumn& column : columns) add_column(path, column.name);
  }

 private:
  void add_column(const std::string& path, const std::string& name) {
    FileBytes file(path);
    const auto reader = open_column(
        file, {.format = path.ends_with(".parquet") ? TextFormat::kParquet : TextFormat::kArrow,
               .path = path,
               .column = name,
               .values = ColumnRequest::Values::kAny});
    for (ColumnValue value; reader->next(value);) {
      const bool absent = value.kind == ColumnValue::Kind::kNull;
      values.push_back(name + "=" + (absent ? "nothing" : std::string(value.text)));
    }
  }
};

class Columns : public ::testing::Test {
 protected:
  ~Columns() override { ::unsetenv("FAKE_WORKER_ROW"); }

  static std::string record(int64_t row) {
    const std::string key = row % 5 == 3 ? "" : fmt::format(R"("id":"k{}",)", row);
    return fmt::format("{{{}\"n\":{},\"text\":\"row {}\"}}\n", key, row, row);
  }
  static std::string records(int64_t begin, int64_t end) {
    std::string lines;
    for (int64_t row = begin; row < end; ++row) lines += record(row);
    return lines;
  }
  static void configure(Sharded& experiment, const std::string& input, MatrixFormat format) {
    RunConfig& config = experiment.config;
    config.combine.clear();
    config.streams.pop_back();
    config.streams[0].input.path = input;
    config.store.chunk_size = 100;
    config.store.final_format.file = format;
    config.store.final_format.columns = {{.name = "number", .source = "row"},
                                         {.name = "text", .source = "text"},
                                         {.name = "id", .source = "id"},
                                         {.name = "n", .source = "n"}};
  }
  static void encode(Sharded& experiment, int64_t shards) {
    experiment.encode(shards);
    ASSERT_FALSE(experiment.merge().code);
    EXPECT_EQ(verified(experiment.cache("train_tc_embeddings.parts.json")), ExitCode::kOk);
  }
  // The values of the columns, one column after the other over all parts.
  static Table merged(const Sharded& experiment) {
    Table table;
    const PartsList list = experiment.list("train_tc");
    for (const PartsList::Entry& part : list.parts) table.add(experiment.cache(part.file), {});
    for (const TableColumn& column : experiment.config.store.final_format.columns) {
      for (const PartsList::Entry& part : list.parts) {
        Table of_part;
        of_part.add(experiment.cache(part.file), {column});
        table.values.insert(table.values.end(), of_part.values.begin(), of_part.values.end());
      }
    }
    return table;
  }
  static Table undivided(const std::function<void(Sharded&)>& change) {
    Sharded experiment;
    change(experiment);
    EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
    Table table;
    const MatrixFormat format = experiment.config.store.final_format.file;
    table.add(final_path(experiment.cache(""), "train_tc", format),
              experiment.config.store.final_format.columns);
    return table;
  }
};

TEST_F(Columns, AreThoseOfOneRunInEveryFormat) {
  const TempDir dir;
  const std::string jsonl = dir.write("a.jsonl", records(0, kRows));
  std::string csv = "id,n,text\n";
  for (int64_t row = 0; row < kRows; ++row)
    csv += fmt::format("\"k\n{}\",{},row {}\n", row, row, row);
  // A table of one run is the input of another one.
  Sharded first;
  configure(first, jsonl, MatrixFormat::kParquet);
  ASSERT_EQ(first.run().exit_code, ExitCode::kOk);
  const std::string parquet = dir.file("a.parquet");
  fs::copy_file(final_path(first.cache(""), "train_tc", MatrixFormat::kParquet), parquet);
  for (const std::string& input : {jsonl, dir.write("a.csv", csv), parquet}) {
    for (const MatrixFormat format : {MatrixFormat::kParquet, MatrixFormat::kArrow}) {
      const auto change = [&](Sharded& experiment) { configure(experiment, input, format); };
      const Table expected = undivided(change);
      for (const int64_t shards : {1, 2, 7}) {
        Sharded experiment;
        change(experiment);
        encode(experiment, shards);
        EXPECT_EQ(merged(experiment), expected) << input << ", " << shards << " shards";
      }
    }
  }
}

TEST_F(Columns, AreReadFromSeveralFiles) {
  const TempDir dir;
  const auto change = [&](Sharded& experiment) {
    configure(experiment, dir.write("a.jsonl", records(0, 1500)), MatrixFormat::kParquet);
    experiment.config.streams[0].input.more_paths = {dir.write("b.jsonl", ""),
                                                     dir.write("c.jsonl", records(1500, 1600)),
                                                     dir.write("d.jsonl", records(1600, kRows))};
  };
  const Table expected = undivided(change);
  for (const int64_t shards : {4, 20}) {
    Sharded experiment;
    change(experiment);
    encode(experiment, shards);
    EXPECT_EQ(merged(experiment), expected) << shards << " shards";
  }
}

TEST_F(Columns, AValueThatChangedAfterThePlanIsAnErrorOfItsShardOnly) {
  const TempDir dir;
  Sharded experiment;
  const std::string input = dir.write("a.jsonl", records(0, kRows));
  configure(experiment, input, MatrixFormat::kParquet);
  ASSERT_FALSE(experiment.plan(2).code);
  std::string changed = records(0, kRows);
  changed.replace(changed.find("\"k1500\""), 7, "\"K1500\"");
  write_bytes(input, changed);
  EXPECT_FALSE(experiment.run_shard(0).code) << "it reads only its own rows";
  const ErrorDetail error = experiment.run_shard(1);
  EXPECT_EQ(error.code.name(), "text.changed");
  EXPECT_THAT(error.expected, HasSubstr("rows 1000 to 1999"));
  write_bytes(input, records(0, kRows));
  EXPECT_FALSE(experiment.run_shard(1).code) << "the control";
  EXPECT_FALSE(experiment.merge().code);
}

TEST_F(Columns, AColumnThatIsMissingIsFoundByThePlan) {
  const TempDir dir;
  Sharded experiment;
  configure(experiment, dir.write("a.jsonl", records(0, kRows)), MatrixFormat::kParquet);
  experiment.config.store.final_format.columns.push_back({.name = "x", .source = "nowhere"});
  EXPECT_EQ(experiment.plan(2).code.name(), "output.column");
}

TEST_F(Columns, ThatAreAddedToThePlanEncodeNoChunkAgain) {
  const TempDir dir;
  Sharded experiment;
  const std::string input = dir.write("a.jsonl", records(0, kRows));
  configure(experiment, input, MatrixFormat::kParquet);
  const std::vector<TableColumn> columns = experiment.config.store.final_format.columns;
  experiment.config.store.final_format.columns.clear();
  experiment.config.hardware.max_restarts = 0;
  ASSERT_FALSE(experiment.plan(1).code);
  ASSERT_TRUE(experiment.run_shard(0, "crash:9:9").code);
  experiment.config.store.final_format.columns = columns;
  EXPECT_EQ(experiment.run_shard(0).code.name(), "shards.foreign");
  encode(experiment, 1);
  EXPECT_EQ(experiment.encoded_chunks(), kRows / 100);
  EXPECT_EQ(merged(experiment),
            undivided([&](Sharded& other) { configure(other, input, MatrixFormat::kParquet); }));
}

TEST_F(Columns, OfQuantizedTablesComeFromTheParts) {
  ::setenv("FAKE_WORKER_ROW", "6", 1);  // row 7 cannot be encoded
  const TempDir dir;
  const std::string input = dir.write("a.jsonl", records(0, kRows));
  for (const QuarantinePolicy policy : {QuarantinePolicy::kZeros, QuarantinePolicy::kDrop}) {
    const auto change = [&](Sharded& experiment) {
      configure(experiment, input, MatrixFormat::kParquet);
      experiment.config.store.final_format.type = OutputType::kInt8;
      experiment.config.store.quarantine = policy;
    };
    const Table expected = undivided(change);
    Sharded experiment;
    change(experiment);
    experiment.encode(3);
    fs::rename(input, input + ".away");  // the merge needs no input
    EXPECT_FALSE(experiment.merge().code);
    fs::rename(input + ".away", input);
    EXPECT_EQ(merged(experiment), expected);
  }
}

}  // namespace
}  // namespace encode::testing
