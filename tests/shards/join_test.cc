// Tests `encode merge --parts one`: one matrix with the bytes of one run.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "run_plan/shard_plan.h"
#include "shards/join_shards.h"
#include "shards/sharded.h"
#include "store/sealed_json.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string bytes_if_there(const std::string& path) {
  return fs::exists(path) ? read_bytes(path) : "no file";
}

// The matrices and the files beside them, except for the manifests.
std::vector<std::string> files_of(const Sharded& experiment) {
  std::vector<std::string> files;
  for (const std::string& name : kNames) {
    const std::string path = experiment.cache(name + "_embeddings.npy");
    for (const std::string& file :
         {path, ledger_path(path), set_aside_path(path), ranges_path(path)})
      files.push_back(bytes_if_there(file));
  }
  return files;
}

class Join : public ::testing::Test {
 protected:
  Join() { ::setenv("FAKE_WORKER_ROW", "6", 1); }
  ~Join() override { ::unsetenv("FAKE_WORKER_ROW"); }
};

TEST_F(Join, TheMatrixHasTheBytesOfOneRun) {
  for (const OutputType type :
       {OutputType::kFloat32, OutputType::kFloat16, OutputType::kUint8, OutputType::kBinary}) {
    for (const QuarantinePolicy policy : {QuarantinePolicy::kZeros, QuarantinePolicy::kDrop}) {
      const auto configure = [&](Sharded& experiment) {
        experiment.config.store.final_format.type = type;
        experiment.config.store.quarantine = policy;
      };
      Sharded whole;
      configure(whole);
      ASSERT_EQ(whole.run().exit_code, ExitCode::kOk);
      Sharded experiment;
      configure(experiment);
      experiment.encode(20);
      ASSERT_FALSE(experiment.join().code);
      EXPECT_EQ(files_of(experiment), files_of(whole));
      for (const std::string& name : kNames) {
        const std::string path = experiment.cache(name + "_embeddings.npy");
        // The vectors of the fake worker have no bits of 0, which verify finds.
        EXPECT_EQ(verified(path), verified(whole.cache(name + "_embeddings.npy"))) << name;
        const Manifest joined = read_manifest(path).value();
        const Manifest expected = read_manifest(whole.cache(name + "_embeddings.npy")).value();
        EXPECT_EQ(joined.identity.fingerprint, expected.identity.fingerprint);
        EXPECT_EQ(joined.stats.truncated_rows, expected.stats.truncated_rows);
        EXPECT_EQ(joined.dropped_rows, expected.dropped_rows);
      }
    }
  }
}

TEST_F(Join, ADamagedPartIsFoundAndItsShardIsEncodedAgain) {
  ::unsetenv("FAKE_WORKER_ROW");
  Sharded experiment;
  experiment.encode(3);
  experiment.damage_part(1);
  const ErrorDetail error = experiment.join();
  EXPECT_EQ(error.exit_code, ExitCode::kData);
  EXPECT_THAT(error.hint, HasSubstr("--shard 1/3"));
  EXPECT_FALSE(fs::exists(experiment.tc()));
  EXPECT_EQ(experiment.join().code.name(), "shards.missing");
  ASSERT_FALSE(experiment.run_shard(1).code);
  ASSERT_FALSE(experiment.join().code);
  EXPECT_EQ(read_bytes(experiment.tc()).substr(128), undivided().front());
}

TEST_F(Join, AMatrixOfTheSamePartsStays) {
  ::unsetenv("FAKE_WORKER_ROW");
  for (const OutputType type : {OutputType::kFloat32, OutputType::kInt8}) {
    Sharded experiment;
    experiment.config.store.final_format.type = type;
    experiment.encode(3);
    EXPECT_FALSE(is_joined(experiment.config));
    ASSERT_FALSE(experiment.join().code);
    EXPECT_TRUE(is_joined(experiment.config));
    const auto written = fs::last_write_time(experiment.tc());
    ASSERT_FALSE(experiment.join().code);
    EXPECT_EQ(fs::last_write_time(experiment.tc()), written);
    // A part that was published after the merge.
    const std::string part = ShardFiles(experiment.cache("")).part(1);
    const std::string record = read_bytes(part);
    Json other = unseal(record.substr(0, record.size() - 1), part);
    other["matrices"][0]["xxh3_128"] = std::string(32, '0');
    write_bytes(part, seal(other) + "\n");
    EXPECT_FALSE(is_joined(experiment.config));
    write_bytes(part, record);
    EXPECT_TRUE(is_joined(experiment.config)) << "the control";
    std::string bytes = read_bytes(experiment.tc());
    const std::string good = bytes;
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_bytes(experiment.tc(), bytes);
    ASSERT_FALSE(experiment.join().code);
    EXPECT_EQ(read_bytes(experiment.tc()), good) << "a damaged matrix is made again";
    fs::remove(experiment.commit());
    EXPECT_FALSE(is_joined(experiment.config));
  }
}

TEST_F(Join, ReplacesNoFileOfOthersAndMakesNoTable) {
  ::unsetenv("FAKE_WORKER_ROW");
  Sharded experiment;
  experiment.encode(2);
  write_bytes(experiment.tc(), "of a user");
  EXPECT_EQ(experiment.join().code.name(), "output.exists");
  EXPECT_EQ(read_bytes(experiment.tc()), "of a user");
  EXPECT_FALSE(fs::exists(experiment.commit()));
  fs::remove(experiment.tc());
  EXPECT_FALSE(experiment.join().code) << "the control";
  experiment.config.store.final_format.file = MatrixFormat::kParquet;
  EXPECT_EQ(experiment.join().code.name(), "shards.config");
}

TEST_F(Join, StreamsWithoutRowsHaveEmptyMatrices) {
  Sharded experiment;
  for (const std::string stream : {"tc", "commit"}) experiment.write_input(stream, 0, stream);
  experiment.encode(2);
  ASSERT_FALSE(experiment.join().code);
  EXPECT_EQ(read_manifest(experiment.tc())->identity.rows, 0);
  EXPECT_EQ(verified(experiment.tc()), ExitCode::kOk);
}

}  // namespace
}  // namespace encode::testing
