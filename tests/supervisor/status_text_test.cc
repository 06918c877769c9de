// Tests what `encode status` says of a run that goes on, how long it is, and the commands in it.
#include <algorithm>
#include <filesystem>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "run_record/cache_report.h"
#include "run_record/run_command.h"
#include "run_record/run_status.h"
#include "store/run_files.h"
#include "supervisor/experiment.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using State = StreamStatus::State;

RunStatus status_of(const Experiment& experiment) {
  return read_run_status(status_request(experiment.config));
}

RunStatus status_of_directory(const std::string& directory) {
  return read_run_status({.cache_dir = directory});
}

// A cache directory whose lock this process holds, as a run that goes on.
struct LiveRun {
  explicit LiveRun(const Json& streams, const Json& more = Json::object()) {
    Json status = {{"state", "encoding"}, {"pid", ::getpid()}, {"streams", streams}};
    status.update(more);
    dir.write("status.json", status.dump());
  }
  TempDir dir;
  CacheLock lock = CacheLock::acquire(dir.path());
};

TEST(StatusText, OfALiveRunShowsTheRowsThatAreComputedBeforeTheFirstChunkIsSaved) {
  const LiveRun run({{{"stream", "a"}, {"rows", 6000}, {"rows_done", 1500}},
                     {{"stream", "b"}, {"rows", 10}, {"rows_done", 0}}},
                    {{"stream", "a"}});
  const RunStatus status = status_of_directory(run.dir.path());
  ASSERT_THAT(status.streams, SizeIs(2));
  EXPECT_EQ(status.streams[0].state, State::kEncoding);
  EXPECT_EQ(status.streams[0].rows_computed, 1500);
  EXPECT_EQ(status.streams[0].rows_done, 0) << "none is saved";
  EXPECT_EQ(status.streams[1].state, State::kNotStarted);
  const std::string text = render_text(status, StatusDetail::kShort);
  EXPECT_THAT(text, HasSubstr("encoding     25.0% 1,500 of 6,000 rows computed, 0 saved"));
  EXPECT_EQ(Json::parse(render_json(status))["streams"][0]["rows_computed"], 1500);
}

TEST(StatusText, OfALiveRunWithSeveralDevicesKnowsEveryStreamThatIsEncoded) {
  const LiveRun run({{{"stream", "a"}, {"rows", 10}, {"rows_done", 4}},
                     {{"stream", "b"}, {"rows", 10}, {"rows_done", 2}}},
                    {{"stream", "a"},
                     {"workers",
                      {{{"device", "cpu#1"}, {"state", "encoding"}, {"stream", "a"}},
                       {{"device", "cpu#2"}, {"state", "encoding"}, {"stream", "b"}}}}});
  const RunStatus status = status_of_directory(run.dir.path());
  for (const StreamStatus& stream : status.streams) EXPECT_EQ(stream.state, State::kEncoding);
  EXPECT_THAT(render_text(status, StatusDetail::kShort), HasSubstr("devices   2 encoding"));
}

// What a run has computed and not saved is lost with it.
TEST(StatusText, OfADeadRunHasNoRowsThatAreOnlyComputed) {
  const TempDir dir;
  dir.write("status.json", R"({"state":"encoding","stream":"a",)"
                           R"("streams":[{"stream":"a","rows":6000,"rows_done":1500}]})");
  const RunStatus status = status_of_directory(dir.path());
  EXPECT_EQ(status.state, "died");
  EXPECT_EQ(status.streams[0].state, State::kNotStarted);
  EXPECT_EQ(status.streams[0].rows_computed, 0);
}

// A full disk has no space for another status.json, but often for the line of a fault.
TEST(StatusText, OfARunThatCouldOnlyRecordItsFaultShowsTheFault) {
  const TempDir dir;
  dir.write("status.json", R"({"state":"encoding","streams":[]})");
  {
    FaultLog log(RunFiles(dir.path()).faults(), [](const std::string&) {});
    log.add({.type = FaultType::kError,
             .action = FaultAction::kGaveUp,
             .code = "io.write",
             .message = "an older run"});
    log.add({.type = FaultType::kRunStarted});
  }
  EXPECT_EQ(status_of_directory(dir.path()).state, "died") << "the fault is of the run before it";
  FaultLog(RunFiles(dir.path()).faults(), [](const std::string&) {})
      .add({.type = FaultType::kError,
            .action = FaultAction::kGaveUp,
            .stream = "a",
            .rows = {.begin = 600, .end = 1200},
            .code = "io.space",
            .message = "cannot reserve 460928 bytes: No space left on device"});
  const RunStatus status = status_of_directory(dir.path());
  EXPECT_EQ(status.state, "failed");
  EXPECT_EQ(status.error_code, "io.space");
  EXPECT_EQ(status.exit_code, 74);
  const std::string text = render_text(status, StatusDetail::kShort);
  EXPECT_THAT(text, HasSubstr("run       failed while it was encoding"));
  EXPECT_THAT(text, ::testing::ContainsRegex(
                        "fault     20[-0-9]+ [:0-9]+Z, error \\[io.space\\] cannot reserve 460928 "
                        "bytes: No space left on device, a rows 600-1200: gave_up\n"));
  EXPECT_THAT(status.advice, StartsWith("Remove the cause of the error"));
}

// A fault that the run has survived does not explain its end, but it is all that is known.
TEST(StatusText, OfARunThatDiedShowsItsLastFault) {
  const TempDir dir;
  dir.write("status.json", R"({"state":"encoding","streams":[]})");
  FaultLog(RunFiles(dir.path()).faults(), [](const std::string&) {
  }).add({.type = FaultType::kHang, .action = FaultAction::kRestarted, .code = "worker.hung"});
  const RunStatus status = status_of_directory(dir.path());
  EXPECT_EQ(status.state, "died");
  EXPECT_EQ(status.error_code, "");
  EXPECT_THAT(render_text(status, StatusDetail::kShort),
              HasSubstr(", hang [worker.hung]: restarted\n"));
}

// The folder may be the one in which a user works, or the default folder of caches.
TEST(StatusText, OfAFolderShowsTheRunsInItAndTheOnlyOneAtOnce) {
  const TempDir dir;
  const std::string text = render_text(status_of_directory(dir.path()), StatusDetail::kShort);
  EXPECT_THAT(text, Not(HasSubstr("streams")));
  EXPECT_THAT(text, HasSubstr("No run has used this directory: give the output of a run"));

  dir.write("b/status.json", R"({"state":"done","streams":[{"stream":"a","rows":7}]})");
  dir.write("b/LOCK", "");
  EXPECT_EQ(status_of_directory(dir.path()).cache_dir, dir.file("b"));

  dir.write(".x.npy.cache/LOCK", "");
  dir.write(".x.npy.cache/status.json", R"({"state":"stopped","streams":[]})");
  const RunStatus both = status_of_directory(dir.path());
  ASSERT_THAT(both.runs, SizeIs(2));
  EXPECT_EQ(both.runs[0].path, dir.file("b"));
  EXPECT_EQ(both.runs[1].path, dir.file("x.npy")) << "its output, which is how users name it";
  EXPECT_EQ(both.runs[1].state, "stopped");
  EXPECT_THAT(render_text(both, StatusDetail::kShort),
              HasSubstr("Look at one of them: encode status " + dir.file("b")));
  EXPECT_EQ(Json::parse(render_json(both))["runs"][0]["rows"], 7);
}

TEST(StatusText, OfACompleteRunGivesTheCommandThatChecksIt) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  EXPECT_THAT(status_of(experiment).advice,
              EndsWith("to check the matrices: encode verify " + experiment.dir().file("cache")));
  experiment.config.streams.resize(1);
  EXPECT_THAT(status_of(experiment).advice,
              EndsWith("to check the matrix: encode verify " + experiment.tc()));
}

size_t lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(StatusText, IsShortUnlessAllIsAskedFor) {
  Json streams = Json::array();
  for (int i = 0; i < 40; ++i)
    streams.push_back(
        {{"stream", "stream" + std::to_string(i)}, {"rows", 10}, {"rows_done", i == 7 ? 3 : 0}});
  const LiveRun run(streams, {{"stream", "stream7"},
                              {"rows_per_second", 5},
                              {"tokens_per_second", 100},
                              {"seconds_left", 60},
                              {"time", 1700000000}});
  const RunStatus status = status_of_directory(run.dir.path());
  const std::string text = render_text(status, StatusDetail::kShort);
  EXPECT_LE(lines(text), 15U) << text;
  EXPECT_THAT(text, HasSubstr("0 of 40 streams are done; --verbose lists all of them"));
  EXPECT_THAT(text, HasSubstr("  stream7 ")) << "the one that is encoded";
  EXPECT_GT(lines(render_text(status, StatusDetail::kFull)), 40U);

  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  const std::string done = render_text(status_of(experiment), StatusDetail::kShort);
  EXPECT_LE(lines(done), 8U) << done;
  EXPECT_THAT(done, Not(HasSubstr("memory")));
  EXPECT_THAT(done, HasSubstr("next      Nothing is left to do"));
}

// The short text leaves out much, but never a fault.
TEST(StatusText, NamesTheFaultsAlsoWhenItIsShort) {
  Experiment experiment;
  ASSERT_EQ(experiment.run("69:2:1").exit_code, ExitCode::kUnavailable);
  const std::string text = render_text(status_of(experiment), StatusDetail::kShort);
  EXPECT_THAT(text, HasSubstr("faults    1, most often "));
  EXPECT_THAT(text, HasSubstr("error     [device.absent]"));
}

TEST(StatusText, GivesTheCommandOfTheRun) {
  Experiment experiment;
  experiment.environment.command = {
      .arguments = {"run", "--input", "my texts.jsonl", "--fresh", "--pull"},
      .directory = fs::current_path().string()};
  ASSERT_EQ(experiment.run("69:2:1").exit_code, ExitCode::kUnavailable);
  EXPECT_THAT(status_of(experiment).advice,
              EndsWith("continue the run: encode run --input 'my texts.jsonl' --pull"))
      << "--fresh would delete what the run has saved";

  experiment.environment.command.directory = "/elsewhere";
  experiment.config.hardware.max_restarts = 0;
  const RunResult again = experiment.run("75:3:1");
  ASSERT_EQ(again.exit_code, ExitCode::kTempFail);
  EXPECT_THAT(again.error.hint, HasSubstr("to go on: cd /elsewhere && encode run "));
  EXPECT_THAT(status_of(experiment).advice,
              StartsWith("Continue the run: cd /elsewhere && encode run "));
}

TEST(CacheReport, SaysWhichEqualRowsItCounts) {
  EXPECT_EQ(describe(CacheCounts{.deduplicated_rows = 2}),
            "2 rows got the vector of an equal row that was encoded with them");
  EXPECT_EQ(describe(CacheCounts{.deduplicated_rows = 1}),
            "1 row got the vector of an equal row that was encoded with it");
}

TEST(CacheReport, OnlyAWholeShareIsRoundedToIt) {
  const auto found = [](int64_t hits, int64_t requests) {
    return describe(CacheCounts{.requests = requests, .disk_hits = hits});
  };
  EXPECT_THAT(found(2998, 2999), StartsWith("99.9% of 2,999 requests found"));
  EXPECT_THAT(found(2999, 2999), StartsWith("100.0% of 2,999 requests found"));
  EXPECT_THAT(found(1, 2999), StartsWith("0.1% of 2,999 requests found"));
  EXPECT_THAT(found(0, 2999), StartsWith("0.0% of 2,999 requests found"));
}

TEST(StatusText, GivesTheCommandThatTriesRowsAgain) {
  RunCommand command = {.arguments = {"run", "--model", "m", "--overwrite"}};
  EXPECT_EQ(retry_command(command, ""), "encode retry-failed --model m");
  command.arguments.erase(command.arguments.begin());
  EXPECT_EQ(retry_command(command, "a/x.stdin"), "encode retry-failed --model m < a/x.stdin")
      << "the command `run` may be left out";
  EXPECT_EQ(retry_command({}, ""), "");
}

}  // namespace
}  // namespace encode::testing
