// Tests what the supervisor does when a worker, a file or the cache fails.
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "base/nvidia_driver.h"
#include "run_record/run_log.h"
#include "supervisor/experiment.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Recoverable : public ::testing::TestWithParam<const char*> {};

// One failure of a worker does not change the matrix.
TEST_P(Recoverable, FailureOnceChangesNoByte) {
  Experiment experiment;
  const RunResult result = experiment.run(GetParam());
  EXPECT_EQ(result.exit_code, ExitCode::kOk) << render(result.error);
  EXPECT_THAT(result.log, HasSubstr("starting another worker"));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
  EXPECT_EQ(experiment.take_encoded_chunks().size(), 8U) << "no committed chunk was encoded again";
}
INSTANTIATE_TEST_SUITE_P(Misdeeds, Recoverable,
                         ::testing::Values("crash:2:1", "killed:0:1", "75:3:1", "hang:2:1",
                                           "noise:1:1", "lie:2:1", "crash:-1:1", "75:-1:2",
                                           "stuck_load:-1:1", "stuck_load:2:1"));

// A worker that ends before the first chunk and reports no error.
RunResult run_with_worker_that_exits(int code) {
  Experiment experiment;
  experiment.config.hardware.max_restarts = 0;
  return experiment.run("exit" + std::to_string(code) + ":-1:1");
}

TEST(RunTrouble, ADocumentedExitCodeOfAWorkerIsTheOneOfTheRun) {
  for (const ExitCodeFacts& facts : kExitCodes) {
    if (facts.code == ExitCode::kOk) continue;
    const RunResult result = run_with_worker_that_exits(static_cast<int>(facts.code));
    EXPECT_EQ(result.exit_code, facts.code) << render(result.error);
    EXPECT_EQ(result.error.code.name(), "worker.died");
    EXPECT_THAT(result.error.where, HasSubstr("fake_worker"));
  }
}

TEST(RunTrouble, AnyOtherExitCodeOfAWorkerIsAnInternalError) {
  for (const int code : {0, 1, 63, 67, 72, 79, 255})
    EXPECT_EQ(run_with_worker_that_exits(code).exit_code, ExitCode::kInternal) << code;
}

// The shell ends with 127, as the loader does if it does not find a library.
TEST(RunTrouble, AWrongTorchRootIsNamed) {
  Experiment experiment;
  experiment.environment.worker.program = experiment.dir().write("worker", "#!/bin/sh\nexit 127\n");
  std::filesystem::permissions(experiment.environment.worker.program,
                               std::filesystem::perms::owner_all);
  EXPECT_THAT(experiment.run().error.hint, StartsWith("set TORCH_ROOT to the folder"));
  ::setenv("TORCH_ROOT", experiment.dir().path().c_str(), 1);
  const ErrorDetail wrong = experiment.run().error;
  EXPECT_EQ(wrong.code.name(), "worker.spawn");
  EXPECT_THAT(wrong.hint, StartsWith("TORCH_ROOT is '" + experiment.dir().path() +
                                     "', which has no lib/libtorch_cpu.so: set it to the folder"));
  std::filesystem::create_directory(experiment.dir().file("lib"));
  experiment.dir().write("lib/libtorch_cpu.so", "");
  EXPECT_THAT(experiment.run().error.hint, StartsWith("set TORCH_ROOT to the folder"));
  ::unsetenv("TORCH_ROOT");
}

// Workers trust the log, so a chunk that is damaged while the run goes on is found when the final
// matrix is made. It is encoded again.
TEST(RunTrouble, AChunkThatIsDamagedDuringTheRunIsEncodedAgain) {
  const auto flip = [](const std::string& path) {
    std::string bytes = read_bytes(path);
    bytes.back() ^= 1;
    write_bytes(path, bytes);
  };
  const auto remove = [](const std::string& path) { std::filesystem::remove(path); };
  for (const std::function<void(const std::string&)>& damage :
       {std::function<void(const std::string&)>(flip), {remove}}) {
    Experiment experiment;
    bool damaged = false;
    experiment.environment.on_event = [&](const WorkerEvent& event) {
      const auto* const done = std::get_if<ChunkDone>(&event);
      if (done == nullptr || done->chunk != 1 || std::exchange(damaged, true)) return;
      damage(experiment.cache("train_tc_chunks/chunk_0000.npy"));
    };
    const RunResult result = experiment.run();
    EXPECT_EQ(result.exit_code, ExitCode::kOk) << render(result.error);
    EXPECT_THAT(result.log, HasSubstr("it will be encoded again"));
    EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
    EXPECT_EQ(experiment.take_encoded_chunks().size(), 9U) << "one chunk twice";
  }
}

// Shows that the tests above can fail: a run without a failure starts no other worker.
TEST(RunTrouble, UndisturbedRunNeverRestarts) {
  Experiment experiment;
  const RunResult result = experiment.run();
  EXPECT_EQ(result.exit_code, ExitCode::kOk) << render(result.error);
  EXPECT_EQ(experiment.take_encoded_chunks().size(), 8U);
  EXPECT_THAT(result.log, Not(HasSubstr("starting another worker")));
}

// A model that loads slowly, at the start or between two batches, is not a hang.
TEST(RunTrouble, SlowLoadIsNotAHang) {
  for (const char* chunk : {"-1", "2"}) {
    Experiment experiment;
    const RunResult result = experiment.run(std::string("slow_load:") + chunk + ":3");
    EXPECT_EQ(result.exit_code, ExitCode::kOk) << render(result.error);
    EXPECT_THAT(result.log, Not(HasSubstr("starting another worker")));
    EXPECT_EQ(experiment.read(experiment.cache("misdeeds")), "3") << "the load was slow";
  }
}

TEST(RunTrouble, StuckLoadIsNamed) {
  Experiment experiment;
  experiment.config.hardware.max_restarts = 0;
  const RunResult result = experiment.run("stuck_load:-1:1");
  EXPECT_EQ(result.error.code.name(), "worker.hung");
  EXPECT_THAT(result.error.what, HasSubstr("it loaded no further part of the model for"));
}

TEST(RunTrouble, StandardModeRestartsToo) {
  Experiment experiment;
  experiment.config.store.use_chunked_encoding = false;
  EXPECT_EQ(experiment.run("crash:0:1").exit_code, ExitCode::kOk);
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

TEST(RunTrouble, ChunkThatFailsThreeTimesEndsTheRunByName) {
  Experiment experiment;
  const RunResult result = experiment.run("crash:2:99");
  EXPECT_EQ(result.exit_code, ExitCode::kInternal);
  EXPECT_EQ(result.error.code.name(), "worker.poison_chunk");
  EXPECT_THAT(result.error.what, HasSubstr("rows 10 to 14 of train_tc failed 3 times"));
  EXPECT_THAT(result.error.found, HasSubstr("signal 11"));
  EXPECT_EQ(experiment.take_encoded_chunks().size(), 2U) << "the two chunks before it, once each";
}

TEST(RunTrouble, FailuresOfAChunkAreCountedAcrossRuns) {
  Experiment experiment;
  experiment.config.hardware.max_restarts = 0;
  for (int failures = 1; failures < 3; ++failures)
    EXPECT_EQ(experiment.run("75:2:1").exit_code, ExitCode::kTempFail);
  EXPECT_EQ(experiment.run("75:2:1").exit_code, ExitCode::kInternal);
}

TEST(RunTrouble, GivesUpAfterMaxRestartsWithoutProgress) {
  Experiment experiment;
  experiment.config.hardware.max_restarts = 2;
  const RunResult result = experiment.run("75:-1:99");
  EXPECT_EQ(result.exit_code, ExitCode::kTempFail);
  EXPECT_THAT(result.error.what, HasSubstr("gave up after 2 restarts"));
}

// A worker that dies while it has the embedding cache may have died of the cache, which costs only
// the cache.
TEST(RunTrouble, DeathWithTheEmbeddingCacheCostsNoRestart) {
  Experiment without;
  without.config.hardware.max_restarts = 0;
  EXPECT_EQ(without.run("crash:1:1").exit_code, ExitCode::kInternal);
  Experiment experiment;
  experiment.config.hardware.max_restarts = 0;
  experiment.config.embedding_cache.dir = experiment.dir().file("vectors");
  const RunResult result = experiment.run("crash:1:1");
  EXPECT_EQ(result.exit_code, ExitCode::kOk) << render(result.error);
  EXPECT_THAT(result.log, HasSubstr("the run goes on without the embedding cache"));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

TEST(RunTrouble, ReportedErrorKeepsItsExitCodeAndText) {
  Experiment experiment;
  const RunResult result = experiment.run("69:-1:1");
  EXPECT_EQ(result.exit_code, ExitCode::kUnavailable);
  EXPECT_EQ(result.error.code.name(), "device.absent");
  EXPECT_THAT(result.log, Not(HasSubstr("starting another worker")));
  EXPECT_THAT(experiment.read(experiment.cache("encode.log")), HasSubstr("device.absent"));
}

// Reading the inputs may take minutes. Here an input cannot be read, but the error is about the
// driver.
TEST(RunTrouble, AMissingDriverIsFoundOutBeforeTheInputsAreRead) {
  if (has_nvidia_driver()) GTEST_SKIP() << "this machine has an NVIDIA driver";
  Experiment experiment;
  experiment.dir().write("tc.jsonl", "no JSON\n");
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kData) << "the control";
  experiment.config.hardware.device = parse_device("cuda");
  const RunResult result = experiment.run();
  EXPECT_EQ(result.exit_code, ExitCode::kUnavailable);
  EXPECT_EQ(result.error.code.name(), "device.absent");
  EXPECT_EQ(result.error.expected, "cuda");
  experiment.config.hardware.devices = {parse_device("cuda"), parse_device("cpu")};
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kData) << "the CPU can compute";
}

TEST(RunTrouble, AFinishedRunNeedsNoDriver) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  experiment.config.hardware.device = parse_device("cuda");
  const RunResult result = experiment.run();
  EXPECT_EQ(result.exit_code, ExitCode::kOk) << render(result.error);
}

TEST(RunTrouble, AnOutputThatCannotBeWrittenIsFoundOutBeforeTheInputsAreRead) {
  Experiment experiment;
  experiment.config.streams.resize(1);
  experiment.config.store.output = "/proc/out.npy";
  experiment.dir().write("tc.jsonl", "no JSON\n");
  const RunResult result = experiment.run();
  EXPECT_EQ(result.error.code.name(), "io.create");
}

TEST(RunTrouble, AFewLinesThatAreNotEventsAreLoggedAndChangeNothing) {
  Experiment experiment;
  const RunResult result = experiment.run("garbage:1:1");
  EXPECT_EQ(result.exit_code, ExitCode::kOk);
  EXPECT_THAT(result.log, HasSubstr("a line that is not an event"));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

// An upgrade may have replaced only one of the two programs.
TEST(RunTrouble, AWorkerOfAnotherBuildEndsTheRunAtOnce) {
  Experiment experiment;
  const RunResult result = experiment.run("other_build:-1:9");
  EXPECT_EQ(result.exit_code, ExitCode::kConfig);
  EXPECT_EQ(result.error.code.name(), "job.protocol");
  EXPECT_EQ(result.error.where, experiment.environment.worker.program);
  EXPECT_EQ(result.error.found, "\"of another build\"");
  EXPECT_THAT(result.error.hint, HasSubstr("from one package"));
  EXPECT_THAT(result.log, Not(HasSubstr("not an event")));
  EXPECT_THAT(result.log, Not(HasSubstr("starting another worker")));
  EXPECT_THAT(experiment.take_encoded_chunks(), ::testing::IsEmpty());
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk) << "the control: a worker of this build";
}

// The worker that is started again is of another build than `encode`, which still runs.
TEST(RunTrouble, AnUpgradeDuringTheRunKeepsTheCommittedChunks) {
  Experiment experiment;
  const RunResult result = experiment.run("upgrade:2:1");
  EXPECT_EQ(result.error.code.name(), "job.protocol");
  EXPECT_THAT(result.log, HasSubstr("starting another worker"));
  EXPECT_THAT(experiment.take_encoded_chunks(), ::testing::ElementsAre(0, 1));
  const RunResult next = experiment.run();
  EXPECT_EQ(next.exit_code, ExitCode::kOk) << render(next.error);
  EXPECT_THAT(experiment.take_encoded_chunks(), ::testing::ElementsAre(2, 3, 0, 1, 2, 3));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

TEST(RunTrouble, WhatTheWorkerPrintsIsInTheLog) {
  Experiment experiment;
  ASSERT_EQ(experiment.run("shout:1:1").exit_code, ExitCode::kOk);
  EXPECT_THAT(experiment.read(experiment.cache("encode.log")),
              HasSubstr("worker: the sky is falling"));
}

TEST(RunTrouble, MissingWorkerIsAnOsErrorThatNamesIt) {
  Experiment experiment;
  experiment.environment.worker.program = experiment.dir().file("no-such-worker");
  const RunResult result = experiment.run();
  EXPECT_EQ(result.exit_code, ExitCode::kOsError);
  EXPECT_THAT(result.error.where, HasSubstr("no-such-worker"));
}

TEST(RunTrouble, BusyCacheIsATemporaryFailure) {
  Experiment experiment;
  {
    const CacheLock lock = CacheLock::acquire(experiment.dir().file("cache"));
    EXPECT_EQ(experiment.run().exit_code, ExitCode::kTempFail);
  }
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kOk);
}

TEST(RunTrouble, DamagedChunkIsEncodedAgain) {
  Experiment experiment;
  ASSERT_EQ(experiment.run("69:3:1").exit_code, ExitCode::kUnavailable);
  experiment.take_encoded_chunks();
  const std::string chunk = experiment.cache("train_tc_chunks/chunk_0001.npy");
  std::string bytes = experiment.read(chunk);
  bytes[bytes.size() / 2] ^= 1;
  write_bytes(chunk, bytes);
  const RunResult result = experiment.run();
  EXPECT_EQ(result.exit_code, ExitCode::kOk);
  EXPECT_THAT(experiment.take_encoded_chunks(), ::testing::ElementsAre(1, 3, 0, 1, 2, 3));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

TEST(RunTrouble, DamagedFinalIsMadeAgain) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  std::string bytes = experiment.read(experiment.tc());
  bytes.back() ^= 1;
  write_bytes(experiment.tc(), bytes);
  EXPECT_THAT(experiment.run().log, HasSubstr("is damaged or unfinished"));
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

// The rows that were read are the old ones, so only the files show that the input is another one
// now. What was computed is kept: when the old content is back, no chunk is encoded again.
TEST(RunTrouble, AnInputThatChangesBeforeTheMatrixIsPublishedEndsTheRun) {
  namespace fs = std::filesystem;
  const auto grow = [](const std::string& path) {
    std::ofstream(path, std::ios::app) << "{\"text\":\"a new row\"}\n";
  };
  const auto cut = [](const std::string& path) { fs::resize_file(path, fs::file_size(path) / 2); };
  const auto remove = [](const std::string& path) { fs::remove(path); };
  using Change = std::function<void(const std::string&)>;
  for (const Change& change : {Change(grow), Change(cut), Change(remove)}) {
    Experiment experiment;
    experiment.config.streams.pop_back();
    const std::string path = experiment.config.streams.front().input.path;
    const std::string old_content = read_bytes(path);
    bool changed = false;
    experiment.environment.on_event = [&](const WorkerEvent& event) {
      const auto* const done = std::get_if<ChunkDone>(&event);
      if (done != nullptr && done->chunk == 3 && !std::exchange(changed, true)) change(path);
    };
    const RunResult result = experiment.run();
    ASSERT_TRUE(changed);
    EXPECT_EQ(result.error.code.name(), "text.changed");
    EXPECT_EQ(result.exit_code, ExitCode::kIoError);
    EXPECT_EQ(result.error.where, path);
    EXPECT_THAT(result.error.hint, HasSubstr("put the old content back"));
    EXPECT_THAT(result.error.hint, HasSubstr("--fresh"));
    EXPECT_FALSE(fs::exists(experiment.tc()));
    EXPECT_EQ(experiment.take_encoded_chunks().size(), 4U);
    EXPECT_NE(experiment.run().exit_code, ExitCode::kOk) << "it asks before it deletes the chunks";
    write_bytes(path, old_content);
    const RunResult again = experiment.run();
    EXPECT_EQ(again.exit_code, ExitCode::kOk) << render(again.error);
    EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
    EXPECT_EQ(experiment.take_encoded_chunks().size(), 0U);
  }
}

TEST(RunTrouble, BytesThatAreNotUtf8AreAWarning) {
  Experiment experiment;
  EXPECT_THAT(experiment.run().log, Not(HasSubstr("not UTF-8")));
  experiment.dir().write("tc.jsonl", "{\"text\":\"caf\xE9\"}\n{\"text\":\"tea\"}\n");
  experiment.write_input("commit", 2, "commit");
  experiment.config.store.cache_dir = experiment.dir().file("other");
  EXPECT_THAT(experiment.run().log,
              HasSubstr("warning: train_tc: bytes that are not UTF-8 are in 1 of 2 rows"));
}

TEST(RunTrouble, FullLogDiskDoesNotEndARun) {
  Terminal nowhere(-1);
  RunLog log({}, nowhere, nowhere);
  log.open_file("/dev/full");
  EXPECT_NO_THROW(log.info("event", "a message"));
}

TEST(RunTrouble, LogFileThatCannotBeOpenedIsRefused) {
  Experiment experiment;
  experiment.config.log.file = experiment.dir().file("tc.jsonl/x.log");
  EXPECT_EQ(experiment.run().exit_code, ExitCode::kCantCreate);
}

}  // namespace
}  // namespace encode::testing
