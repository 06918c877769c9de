// Tests runs with several devices: who encodes what, and what happens when a device fails.
#include <algorithm>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "run_plan/run_devices.h"
#include "run_record/fault_log.h"
#include "run_record/run_status.h"
#include "supervisor/experiment.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// An experiment on two devices. Every batch takes a while, so that both workers get chunks.
class TwoDevices : public Experiment {
 public:
  explicit TwoDevices(int64_t chunk_size = 2, const char* batch_ms = "60") {
    ::setenv("FAKE_WORKER_SLOW_MS", batch_ms, 1);
    config.hardware.devices = {parse_device("cpu"), parse_device("cpu")};
    config.store.chunk_size = chunk_size;
  }
  ~TwoDevices() { ::unsetenv("FAKE_WORKER_SLOW_MS"); }

  size_t chunks() const {
    return 2 * static_cast<size_t>((kRows + config.store.chunk_size - 1) / config.store.chunk_size);
  }
  bool recorded(FaultAction action) const {
    const FaultHistory history = read_faults(cache("faults.jsonl"));
    return std::any_of(history.records.begin(), history.records.end(),
                       [action](const FaultRecord& fault) { return fault.action == action; });
  }
};

TEST(Devices, ManyChunkSizesGiveTheBytesOfOneDeviceAndEachChunkIsEncodedOnce) {
  for (const int64_t chunk_size : {1, 2, 5, 16, 100}) {
    TwoDevices run(chunk_size, "10");
    const RunResult result = run.run();
    ASSERT_EQ(result.exit_code, ExitCode::kOk) << render(result.error);
    EXPECT_EQ(run.read(run.tc()), undisturbed_tc()) << chunk_size;
    EXPECT_THAT(run.take_encoded_chunks(), SizeIs(run.chunks())) << chunk_size;
  }
}

TEST(Devices, BothEncodeAndTheLogNamesThem) {
  TwoDevices run;
  const RunResult result = run.run();
  const std::string log = run.read(run.cache("encode.log"));
  for (const char* text : {"device cpu, cpu", "cpu#1: train_tc chunk", "cpu#2: train_tc chunk"})
    EXPECT_THAT(log, HasSubstr(text));
  EXPECT_EQ(result.log.find("==== train_tc"), result.log.rfind("==== train_tc"))
      << "a stream is announced once";
  const RunStatus status = read_run_status(status_request(run.config));
  ASSERT_THAT(status.workers, SizeIs(2));
  EXPECT_EQ(status.workers[1].device, "cpu#2");
  EXPECT_EQ(status.workers[1].name, "fake");
  EXPECT_THAT(render_text(status, StatusDetail::kFull), HasSubstr("cpu#2"));
  EXPECT_THAT(render_text(status, StatusDetail::kShort), HasSubstr("devices   2 ended"));
}

class FailsOnce : public ::testing::TestWithParam<const char*> {};

TEST_P(FailsOnce, ChangesNoByte) {
  TwoDevices run;
  const RunResult result = run.run(GetParam());
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << render(result.error);
  EXPECT_THAT(result.log, HasSubstr("starting another worker"));
  EXPECT_EQ(run.read(run.tc()), undisturbed_tc());
  EXPECT_THAT(run.take_encoded_chunks(), SizeIs(run.chunks())) << "no chunk was encoded again";
}
INSTANTIATE_TEST_SUITE_P(Misdeeds, FailsOnce,
                         ::testing::Values("killed:2:1", "crash:4:1", "75:0:1", "hang:3:1",
                                           "crash:-1:1"));

TEST(Devices, OneThatNeverLoadsIsLostAndTheOtherFinishes) {
  for (const char* misdeed : {"69:-1:99@1", "crash:-1:99@1"}) {
    TwoDevices run;
    run.config.hardware.max_restarts = 2;
    const RunResult result = run.run(misdeed);
    ASSERT_EQ(result.exit_code, ExitCode::kOk) << render(result.error);
    EXPECT_THAT(result.log, HasSubstr("cpu#2: the run goes on without this device"));
    EXPECT_TRUE(run.recorded(FaultAction::kDeviceLost));
    EXPECT_EQ(run.read(run.tc()), undisturbed_tc());
    EXPECT_EQ(read_run_status(status_request(run.config)).workers[1].state, "lost");
  }
}

TEST(Devices, IfNoneLoadsTheRunEndsWithTheErrorOfTheDevice) {
  TwoDevices absent;
  const RunResult result = absent.run("69:-1:99");
  EXPECT_EQ(result.exit_code, ExitCode::kUnavailable);
  EXPECT_EQ(result.error.code.name(), "device.absent");
  TwoDevices dying;
  dying.config.hardware.max_restarts = 1;
  EXPECT_EQ(dying.run("75:-1:99").exit_code, ExitCode::kTempFail);
  EXPECT_TRUE(dying.recorded(FaultAction::kGaveUp));
}

TEST(Devices, OneThatFailsInEveryWindowIsLostAndTheOtherTakesItsChunks) {
  TwoDevices run(1);
  run.config.hardware.max_restarts = 3;
  const RunResult result = run.run("75:*:999@1");
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << render(result.error);
  EXPECT_THAT(result.log, HasSubstr("cpu#2: the run goes on without this device"));
  EXPECT_EQ(run.read(run.tc()), undisturbed_tc());
  EXPECT_THAT(run.take_encoded_chunks(), SizeIs(run.chunks()));
}

TEST(Devices, OfAnotherKindAreRefusedBeforeTheyCommitAChunk) {
  TwoDevices run;
  const RunResult result = run.run("unlike:-1:99@1");
  EXPECT_EQ(result.exit_code, ExitCode::kConfig);
  EXPECT_EQ(result.error.code.name(), "run.unlike_devices");
  EXPECT_EQ(result.error.found, "another");
  EXPECT_THAT(run.read(run.cache("train_tc_chunks/chunks.log")), Not(HasSubstr("another")));
  ASSERT_EQ(run.run().exit_code, ExitCode::kOk) << "the committed chunks are good";
  EXPECT_EQ(run.read(run.tc()), undisturbed_tc());
}

// No device is to blame, so the run does not go on with the other device.
TEST(Devices, AWorkerOfAnotherBuildEndsTheRun) {
  TwoDevices run;
  const RunResult result = run.run("other_build:-1:9@1");
  EXPECT_EQ(result.exit_code, ExitCode::kConfig);
  EXPECT_EQ(result.error.code.name(), "job.protocol");
  EXPECT_FALSE(run.recorded(FaultAction::kDeviceLost));
  ASSERT_EQ(run.run().exit_code, ExitCode::kOk) << "the committed chunks are good";
  EXPECT_EQ(run.read(run.tc()), undisturbed_tc());
}

TEST(Devices, AnErrorThatNoDeviceHasCausedEndsTheRun) {
  TwoDevices run;
  run.environment.worker.program = "/no/such/worker";
  EXPECT_EQ(run.run().exit_code, ExitCode::kOsError);
}

TEST(Devices, StandardModeHasOneWorkerAndSaysSo) {
  TwoDevices run;
  run.config.store.use_chunked_encoding = false;
  const RunResult result = run.run();
  EXPECT_EQ(result.exit_code, ExitCode::kOk);
  EXPECT_THAT(result.log, HasSubstr("without chunk files a run uses one device, cpu"));
  EXPECT_EQ(run.read(run.tc()), undisturbed_tc());
}

TEST(Devices, AllIsTheCpuWithoutAGpu) {
  TwoDevices run;
  run.config.hardware.all_devices = true;
  ASSERT_EQ(run.run("killed:2:1").exit_code, ExitCode::kOk);
  EXPECT_EQ(run.read(run.tc()), undisturbed_tc());
}

TEST(Devices, AllIsEveryGpuThatTheFirstWorkerCounts) {
  TwoDevices run;
  run.config.hardware.all_devices = true;
  const RunResult result = run.run("gpus:-1:99");
  ASSERT_EQ(result.exit_code, ExitCode::kOk) << render(result.error);
  const std::string log = run.read(run.cache("encode.log"));
  for (const char* text : {"cuda:0: train_tc chunk", "cuda:1: train_tc chunk", "cuda:2: "})
    EXPECT_THAT(log, HasSubstr(text));
  EXPECT_EQ(run.read(run.tc()), undisturbed_tc());
}

TEST(Devices, AListWithOneDeviceIsAnOrdinaryRun) {
  TwoDevices run;
  run.config.hardware.devices = {parse_device("cpu")};
  const RunResult result = run.run();
  EXPECT_EQ(result.exit_code, ExitCode::kOk);
  EXPECT_THAT(result.log, Not(HasSubstr("cpu#")));
  EXPECT_THAT(read_run_status(status_request(run.config)).workers, SizeIs(0));
}

TEST(Devices, LabelsTellEqualDevicesApart) {
  EXPECT_THAT(device_labels({parse_device("cuda:3")}), ElementsAre(""));
  EXPECT_THAT(device_labels({parse_device("cuda:0"), parse_device("cuda:1")}),
              ElementsAre("cuda:0", "cuda:1"));
  EXPECT_THAT(device_labels({parse_device("cpu"), parse_device("cpu")}),
              ElementsAre("cpu#1", "cpu#2"));
}

TEST(Devices, TheHostIsDividedAmongTheWorkers) {
  TwoDevices run;
  ASSERT_EQ(run.run().exit_code, ExitCode::kOk);
  for (const char* job : {"job.json", "job.1.json"}) {
    const Json spec = Json::parse(run.read(run.cache(job)));
    EXPECT_EQ(spec.at("workers"), 2) << job;
    EXPECT_EQ(spec.at("units").at(0).at("host_share"), 0.5) << job;
  }
}

}  // namespace
}  // namespace encode::testing
