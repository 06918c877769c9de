// What becomes of rows that were set aside: the policies, and later runs.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/npy.h"
#include "base/own_cache.h"
#include "fault_run.h"
#include "run_record/run_status.h"
#include "support/npy_values.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kFault = "cuda@token:1*9999";

std::vector<int64_t> rows_listed(const FaultRun& run, const std::string& stream) {
  std::vector<int64_t> rows;
  const std::string path = run.final(stream);
  for (const SetAsideRow& row : set_aside_rows(path, read_manifest(path).value()))
    rows.push_back(row.row);
  return rows;
}

TEST(Quarantine, ErrorKeepsTheChunksAndALaterTryNeedsOnlyThePolicy) {
  FaultRun run({33});
  ASSERT_EQ(run.run(kFault).exit_code, ExitCode::kData);
  EXPECT_TRUE(std::filesystem::exists(run.cache("train_tc_chunks/chunk_0001.set_aside.jsonl")));
  const RunStatus status = read_run_status(status_request(run.config));
  EXPECT_EQ(status.streams[0].rows_set_aside, 1);
  EXPECT_THAT(render_text(status, StatusDetail::kShort), HasSubstr("1 row set aside"));
  EXPECT_THAT(status.advice, HasSubstr("retry-failed"));
  // The same command again ends in the same way, without a worker.
  run.environment.worker.program = "/no/such/worker";
  const FaultRunEnd again = run.run(kFault);
  EXPECT_EQ(again.exit_code, ExitCode::kData);
  EXPECT_EQ(again.error.code.name(), "run.rows_set_aside");
  EXPECT_THAT(again.error.what, HasSubstr("row 33 of train_tc"));
}

TEST(Quarantine, ZerosAreNoEmbeddingForALaterRun) {
  FaultRun run({33});
  run.config.store.quarantine = QuarantinePolicy::kZeros;
  ASSERT_EQ(run.run(kFault).exit_code, ExitCode::kOk);
  EXPECT_THAT(rows_listed(run, "tc"), ElementsAre(33));
  run.environment.worker.program = "/no/such/worker";
  ASSERT_EQ(run.run(kFault).exit_code, ExitCode::kOk) << "the final is kept";
  run.config.store.quarantine = QuarantinePolicy::kError;
  EXPECT_EQ(run.run(kFault).exit_code, ExitCode::kData);
  run.config.store.quarantine = QuarantinePolicy::kDrop;
  ASSERT_EQ(run.run(kFault).exit_code, ExitCode::kOk);
  EXPECT_EQ(read_npy_header(run.final()).rows, FaultRun::kRows - 1);
}

TEST(Quarantine, DropKeepsTheMatricesOfASplitSideBySide) {
  FaultRun run({33});
  run.add_stream("commit", {5, 90});
  run.config.combine = {{.split = "train", .streams = {"tc", "commit"}}};
  run.config.store.quarantine = QuarantinePolicy::kDrop;
  const FaultRunEnd end = run.run(kFault);
  ASSERT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
  FaultRun good({33});
  ASSERT_EQ(good.run().exit_code, ExitCode::kOk);
  for (const char* stream : {"tc", "commit"}) {
    EXPECT_EQ(read_npy_header(run.final(stream)).rows, FaultRun::kRows - 3);
    EXPECT_THAT(rows_listed(run, stream), ElementsAre(5, 33, 90));
    EXPECT_EQ(run.row(0, stream), good.row(0));
    EXPECT_EQ(run.row(5, stream), good.row(6));
    EXPECT_EQ(run.row(116, stream), good.row(119));
  }
  EXPECT_EQ(read_npy_header(run.cache("train_combined_embeddings.npy")).rows, FaultRun::kRows - 3);
  ASSERT_EQ(run.run(kFault).exit_code, ExitCode::kOk) << "nothing is left to do";
}

TEST(Quarantine, DropRefusesAFinalThatHasRowsThatAreDroppedLater) {
  FaultRun run({33});
  run.add_stream("commit", {5});
  run.config.store.quarantine = QuarantinePolicy::kDrop;
  ASSERT_EQ(run.run().exit_code, ExitCode::kOk);
  for (const char* path : {"", ".manifest.json"})
    std::filesystem::remove(run.final("commit") + path);
  std::filesystem::remove(ledger_path(run.final("commit")));
  const FaultRunEnd end = run.run(kFault);
  EXPECT_EQ(end.exit_code, ExitCode::kConfig);
  EXPECT_EQ(end.error.code.name(), "run.dropped_rows");
  EXPECT_EQ(end.error.where, run.final());
}

// Row 33 has several passages then. Only the last one has the token that fails.
void cut_into_passages(FaultRun& run) {
  run.config.streams[0].result.passages.max_tokens = 6;
  run.config.store.quarantine = QuarantinePolicy::kZeros;
}

TEST(Quarantine, OfPassagesIsOfWholeRows) {
  FaultRun good({33});
  cut_into_passages(good);
  ASSERT_EQ(good.run().exit_code, ExitCode::kOk);
  std::vector<int64_t> offsets = npy_values<int64_t>(offsets_path(good.final()));
  const int64_t lost = offsets[34] - offsets[33];
  ASSERT_GT(lost, 1);
  const auto width = read_npy_header(good.final()).cols;
  std::vector<float> vectors = npy_values<float>(good.final());
  vectors.erase(vectors.begin() + offsets[33] * width, vectors.begin() + offsets[34] * width);
  for (size_t row = 34; row < offsets.size(); ++row) offsets[row] -= lost;
  // The device fails, the vector is wrong, and the process ends.
  for (const char* fault : {kFault, "nan@token:1*9999", "abort@token:1*9999"}) {
    FaultRun run({33});
    cut_into_passages(run);
    const FaultRunEnd end = run.run(fault);
    ASSERT_EQ(end.exit_code, ExitCode::kOk) << fault << render(end.error);
    EXPECT_THAT(rows_listed(run, "tc"), ElementsAre(33)) << fault;
    EXPECT_EQ(npy_values<float>(run.final()), vectors) << fault;
    EXPECT_EQ(npy_values<int64_t>(offsets_path(run.final())), offsets) << fault;
    run.environment.retry_set_aside = true;
    ASSERT_EQ(run.run().exit_code, ExitCode::kOk) << fault;
    EXPECT_EQ(read_bytes(run.final()), read_bytes(good.final())) << fault;
    EXPECT_EQ(read_bytes(passages_path(run.final())), read_bytes(passages_path(good.final())));
  }
}

TEST(RetryFailed, PublishesTheFinalWhenTheRowsCanBeEncoded) {
  for (const QuarantinePolicy policy :
       {QuarantinePolicy::kError, QuarantinePolicy::kZeros, QuarantinePolicy::kDrop}) {
    FaultRun run({33});
    run.add_stream("commit", {5});
    run.config.store.quarantine = policy;
    const std::string fault = "nan@token:1*9999";
    run.run(fault);
    run.environment.retry_set_aside = true;
    // The rows fail again.
    EXPECT_EQ(run.run(fault).exit_code,
              policy == QuarantinePolicy::kError ? ExitCode::kData : ExitCode::kOk);
    const FaultRunEnd end = run.run();
    ASSERT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
    FaultRun good({33});
    ASSERT_EQ(good.run().exit_code, ExitCode::kOk);
    EXPECT_EQ(read_bytes(run.final()), read_bytes(good.final())) << to_string(policy);
    EXPECT_EQ(read_npy_header(run.final("commit")).rows, FaultRun::kRows);
    EXPECT_EQ(read_manifest(run.final("commit")).value().quarantine, QuarantinePolicy::kError);
  }
}

TEST(RetryFailed, FindsItsChunksInACacheDirectoryThatAFinishedRunRemoves) {
  FaultRun run({33});
  run.config.store.output = run.dir().file("o.npy");
  run.config.store.cache_dir = own_cache_dir(run.config.store.output);
  run.config.store.quarantine = QuarantinePolicy::kZeros;
  ASSERT_EQ(run.run(kFault).exit_code, ExitCode::kOk);
  EXPECT_TRUE(std::filesystem::exists(run.config.store.cache_dir + "/train_tc_chunks/chunks.log"));
  run.environment.retry_set_aside = true;
  const FaultRunEnd end = run.run();
  ASSERT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
  EXPECT_FALSE(std::filesystem::exists(run.config.store.cache_dir));
  FaultRun good({33});
  ASSERT_EQ(good.run().exit_code, ExitCode::kOk);
  EXPECT_EQ(read_bytes(run.config.store.output), read_bytes(good.final()));
}

TEST(Quarantine, StandardModeNamesTheRowAndPublishesNothing) {
  FaultRun run({33});
  run.config.store.use_chunked_encoding = false;
  const FaultRunEnd end = run.run("nan@token:1*9999");
  EXPECT_EQ(end.exit_code, ExitCode::kData);
  EXPECT_EQ(end.error.code.name(), "run.row_failed");
  EXPECT_THAT(end.error.what, HasSubstr("row 33 of train_tc"));
  EXPECT_FALSE(std::filesystem::exists(run.final()));
  run.config.store.quarantine = QuarantinePolicy::kZeros;
  EXPECT_EQ(run.run().error.code.name(), "config.quarantine");
}

TEST(Quarantine, AnotherTextIsTriedAgain) {
  FaultRun run({33});
  run.config.store.use_chunked_encoding = false;
  const std::string fault = "nan@token:1*9999";
  ASSERT_EQ(run.run(fault).error.code.name(), "run.row_failed");
  run.write_texts("tc", {});
  const FaultRunEnd end = run.run(fault);
  EXPECT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
}

TEST(Quarantine, TokenEmbeddingsLoseTheVectorsOfTheRowAndCannotBeDropped) {
  FaultRun run({33});
  run.config.streams[0].result.pooling = PoolingMode::kNone;
  run.config.streams[0].result.normalize = {};
  run.config.store.quarantine = QuarantinePolicy::kDrop;
  EXPECT_EQ(run.run().error.code.name(), "config.quarantine");
  run.config.store.quarantine = QuarantinePolicy::kZeros;
  const FaultRunEnd end = run.run("nan@token:1*9999");
  ASSERT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
  const Manifest manifest = read_manifest(run.final()).value();
  EXPECT_EQ(read_npy_header(run.final()).rows, manifest.stats.tokens);
  EXPECT_EQ(manifest.stats.set_aside_rows, 1);
}

}  // namespace
}  // namespace encode::testing
