// Tests `encode status`: the state of live, finished and dead runs, and damaged cache directories.
#include "run_record/run_status.h"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "store/run_files.h"
#include "supervisor/experiment.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using State = StreamStatus::State;

RunStatus status_of(const Experiment& experiment) {
  return read_run_status(status_request(experiment.config));
}

RunStatus status_of_directory(const std::string& directory) {
  return read_run_status({.cache_dir = directory, .streams = {}, .config_path = ""});
}

// Returns the content of every file below a directory.
std::map<std::string, std::string> content(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) files[entry.path()] = read_bytes(entry.path());
  return files;
}

// Copies a directory while its run goes on. A file that is renamed or removed meanwhile was a
// temporary one, and the copy may lack it.
void copy_live(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path target = to / fs::relative(entry.path(), from);
    std::error_code error;
    fs::create_directories(target.parent_path());
    if (entry.is_regular_file(error)) fs::copy_file(entry.path(), target, error);
    EXPECT_TRUE(!error || error == std::errc::no_such_file_or_directory) << error.message();
  }
}

// Renders in all forms, and checks that no control character gets through. Returns the full text.
std::string rendered(const RunStatus& status) {
  const std::string json = render_json(status);
  EXPECT_FALSE(Json::parse(json, nullptr, /*allow_exceptions=*/false).is_discarded());
  const std::string text = render_text(status, StatusDetail::kFull);
  for (const std::string& form : {text, render_text(status, StatusDetail::kShort), json}) {
    for (const char c : form) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  }
  return text;
}

TEST(RunStatus, OfAFinishedRunIsDone) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  const auto before = content(experiment.config.store.cache_dir);
  const RunStatus status = status_of(experiment);
  EXPECT_EQ(status.state, "done");
  EXPECT_THAT(status.problems, IsEmpty());
  ASSERT_THAT(status.streams, SizeIs(2));
  for (const StreamStatus& stream : status.streams) {
    EXPECT_EQ(stream.state, State::kDone);
    EXPECT_EQ(stream.rows_done, Experiment::kRows);
  }
  EXPECT_THAT(status.memory, SizeIs(2)) << "even a short run has samples of its begin and its end";
  // The fake worker claims a second for each row.
  EXPECT_EQ(status.stages, (StageSeconds{.encode = 2 * Experiment::kRows}));
  EXPECT_EQ(status.memory.back().stages, status.stages);
  EXPECT_THAT(rendered(status), HasSubstr("\nstages    encoding 100.0%, waiting for input 0.0%"));
  EXPECT_GT(status.memory[0].host_limit_bytes, 0);
  EXPECT_THAT(rendered(status), HasSubstr("next      Nothing is left to do"));
  EXPECT_EQ(content(experiment.config.store.cache_dir), before) << "no file was changed";
  EXPECT_EQ(status_of_directory(experiment.config.store.cache_dir).streams.size(), 2U)
      << "without a config the files name the streams";
}

// The rerun finds chunks and final matrices of other options, and changes nothing.
TEST(RunStatus, OfAFinishedRunStaysDoneWhenALaterRunIsRefused) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  const RunStatus before = status_of(experiment);
  const RunConfig as_it_was = experiment.config;
  for (StreamConfig& stream : experiment.config.streams) stream.result.max_length = 7;
  const RunResult refused = experiment.run();
  ASSERT_NE(refused.exit_code, ExitCode::kOk);
  const RunStatus after = read_run_status(status_request(as_it_was));
  EXPECT_EQ(after.state, "done");
  EXPECT_EQ(after.stages, before.stages);
  EXPECT_EQ(after.memory.size(), before.memory.size());
  EXPECT_EQ(after.error_code, "");
  ASSERT_TRUE(after.refused);
  EXPECT_EQ(after.refused->code, refused.error.code.name());
  EXPECT_EQ(after.refused->exit_code, static_cast<int64_t>(refused.exit_code));
  EXPECT_THAT(rendered(after), HasSubstr("a later run, which changed nothing: [" +
                                         std::string(refused.error.code.name())));
  experiment.config = as_it_was;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  EXPECT_FALSE(status_of(experiment).refused) << "the next run has a record of its own";
}

// The input is missing, so the run is refused before it has opened anything else.
TEST(RunStatus, OfAFinishedRunStaysDoneWhenItsInputIsGone) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  fs::remove(experiment.config.streams[0].input.path);
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kNoInput);
  EXPECT_EQ(status_of(experiment).state, "done") << "not died";
  EXPECT_TRUE(status_of(experiment).refused);
}

TEST(RunStatus, OfARunThatCouldNeverBeginIsFailed) {
  Experiment experiment;
  fs::remove(experiment.config.streams[0].input.path);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(experiment.run().exit_code, ExitCode::kNoInput);
    const RunStatus status = status_of(experiment);
    EXPECT_EQ(status.state, "failed") << "not died";
    EXPECT_EQ(status.error_code, "text.open");
    EXPECT_FALSE(status.refused) << "no run was before it";
  }
}

// A refused run records nothing under a name that is not its own.
TEST(RunStatus, OfARefusedRunReplacesNoForeignFile) {
  Experiment experiment;
  fs::create_directories(experiment.config.store.cache_dir);
  experiment.dir().write("cache/status.json", "my notes");
  EXPECT_EQ(experiment.run().error.code.name(), "output.exists");
  EXPECT_EQ(experiment.read(experiment.cache("status.json")), "my notes");
}

// Negative control: a run that fails after it has begun replaces the record.
TEST(RunStatus, OfARunThatFailsWhileItEncodesIsFailed) {
  Experiment experiment;
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  experiment.write_input("tc", Experiment::kRows, "other texts");
  experiment.config.store.fresh = true;
  ASSERT_EQ(experiment.run("69:1:9").exit_code, ExitCode::kUnavailable);
  EXPECT_EQ(status_of(experiment).state, "failed");
  EXPECT_FALSE(status_of(experiment).refused);
}

TEST(RunStatus, AddsTheStagesOfAllWorkersIncludingACrashedOne) {
  Experiment experiment;
  // The first worker crashes in the chunk that begins at row 10, and the second begins there.
  ASSERT_EQ(experiment.run("crash:2:1").exit_code, ExitCode::kOk);
  EXPECT_EQ(status_of(experiment).stages.encode, 2 * Experiment::kRows);
  ASSERT_THAT(status_of(experiment).memory, SizeIs(3));
  EXPECT_EQ(status_of(experiment).memory[1].stages.encode, 10);

  Experiment devices;
  devices.config.hardware.devices = {parse_device("cpu"), parse_device("cpu")};
  ASSERT_EQ(devices.run().exit_code, ExitCode::kOk);
  EXPECT_EQ(status_of(devices).stages.encode, 2 * Experiment::kRows);
}

TEST(RunStatus, OfAnOlderVersionHasNoStages) {
  const TempDir dir;
  dir.write("status.json", "{\"state\":\"done\"}");
  EXPECT_EQ(status_of_directory(dir.path()).stages, StageSeconds());
  EXPECT_THAT(rendered(status_of_directory(dir.path())), Not(HasSubstr("stages")));
  dir.write("status.json", "{\"state\":\"done\",\"stages\":{\"read\":-1}}");
  EXPECT_THAT(status_of_directory(dir.path()).problems,
              Contains(HasSubstr("bad value for 'read'")));
}

TEST(RunStatus, OfALiveRunShowsTheCommittedChunksAndDoesNotDisturbIt) {
  Experiment experiment;
  std::vector<RunStatus> seen;
  experiment.environment.on_event = [&](const WorkerEvent& event) {
    if (std::holds_alternative<ChunkDone>(event)) seen.push_back(status_of(experiment));
  };
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  ASSERT_THAT(seen, SizeIs(8));
  for (const RunStatus& status : seen) {
    EXPECT_EQ(status.state, "running");
    EXPECT_EQ(status.lock.held, LockState::Held::kYes);
    EXPECT_EQ(status.lock.pid, ::getpid());
    EXPECT_THAT(status.problems, IsEmpty());
    EXPECT_THAT(rendered(status), HasSubstr("Wait: the run goes on"));
  }
  EXPECT_GE(seen[0].streams[0].chunks_done, 1);
  EXPECT_GE(seen[0].streams[0].rows_done, 5);
  EXPECT_EQ(experiment.read(experiment.tc()), undisturbed_tc());
}

TEST(RunStatus, OfARunThatWasKilledSaysSoByTheLockAndNotByThePid) {
  Experiment experiment;
  const std::string copy = experiment.dir().file("copy");
  bool copied = false;
  // The copy is the directory of a run that ended without a message. Its LOCK names a process that
  // is alive: this one.
  experiment.environment.on_event = [&](const WorkerEvent& event) {
    const auto* const done = std::get_if<ChunkDone>(&event);
    if (done == nullptr || done->chunk != 1 || std::exchange(copied, true)) return;
    copy_live(experiment.config.store.cache_dir, copy);
  };
  ASSERT_EQ(experiment.run().exit_code, ExitCode::kOk);
  const RunStatus status = status_of_directory(copy);
  EXPECT_EQ(status.state, "died");
  EXPECT_EQ(status.lock.pid, ::getpid());
  EXPECT_EQ(status.rows_per_second, 0);
  EXPECT_EQ(status.seconds_left, -1);
  EXPECT_THAT(rendered(status), HasSubstr("next      Continue the run"));

  // A run writes status.json only when it has read its inputs.
  ASSERT_TRUE(std::filesystem::remove(RunFiles(copy).status()));
  const RunStatus early = status_of_directory(copy);
  EXPECT_EQ(early.state, "died");
  EXPECT_EQ(early.phase, "scanning");
  EXPECT_THAT(rendered(early), HasSubstr("run       ended while it read its inputs, process"));
}

TEST(RunStatus, OfADirectoryThatNoRunHasUsedNamesNoProblem) {
  const TempDir directory;
  const RunStatus status = status_of_directory(directory.path());
  EXPECT_EQ(status.state, "none");
  EXPECT_THAT(status.problems, IsEmpty());
}

TEST(RunStatus, OfARunThatFailedShowsTheErrorAndWhatIsLeft) {
  Experiment experiment;
  ASSERT_EQ(experiment.run("69:2:1").exit_code, ExitCode::kUnavailable);
  const RunStatus status = status_of(experiment);
  EXPECT_EQ(status.state, "failed");
  EXPECT_EQ(status.error_code, "device.absent");
  EXPECT_EQ(status.exit_code, 69);
  EXPECT_EQ(status.streams[0].state, State::kPartial);
  EXPECT_EQ(status.streams[0].chunks_done, 2);
  EXPECT_EQ(status.streams[0].chunks, 4);
  EXPECT_EQ(status.streams[0].rows_done, 10);
  EXPECT_EQ(status.streams[1].state, State::kNotStarted);
  EXPECT_THAT(rendered(status), HasSubstr("10 of 17 rows, 2 of 4 chunks"));
  EXPECT_THAT(status.advice, HasSubstr("Remove the cause"));
}

TEST(RunStatus, CountsFaultsByCause) {
  Experiment experiment;
  ASSERT_EQ(experiment.run("69:2:1").exit_code, ExitCode::kUnavailable);
  const std::string cache = experiment.config.store.cache_dir;
  ASSERT_THAT(status_of(experiment).faults, SizeIs(1)) << "the run has recorded its own end";
  fs::remove(RunFiles(cache).faults());
  {
    FaultLog log(RunFiles(cache).faults(),
                 [](const std::string& problem) { ADD_FAILURE() << problem; });
    log.add({.type = FaultType::kRunStarted});
    for (int i = 0; i < 3; ++i)
      log.add({.type = FaultType::kOutOfMemory,
               .action = FaultAction::kBatchHalved,
               .stream = "train_tc",
               .rows = {.begin = 5, .end = 10},
               .code = "device.memory",
               .message = "it does not fit\x1b[31m"});
    log.add({.type = FaultType::kHang, .action = FaultAction::kRestarted, .code = "worker.hung"});
  }
  const RunStatus status = status_of(experiment);
  ASSERT_THAT(status.faults, SizeIs(2)) << "the start of a run is no fault";
  EXPECT_EQ(status.faults[0].count, 3);
  EXPECT_EQ(status.faults[0].last.action, FaultAction::kBatchHalved);
  const std::string text = rendered(status);
  EXPECT_THAT(text, HasSubstr("3 x out_of_memory [device.memory]"));
  EXPECT_THAT(text, HasSubstr("train_tc rows 5-10: batch_halved"));
}

struct Damage {
  std::string name;
  std::function<void(const std::string& path)> apply;
};

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all = {
      {"missing", [](const auto& path) { fs::remove_all(path); }},
      {"empty", [](const auto& path) { write_bytes(path, ""); }},
      {"half",
       [](const auto& path) {
         const std::string bytes = read_bytes(path);
         write_bytes(path, bytes.substr(0, bytes.size() / 2));
       }},
      {"garbage", [](const auto& path) { write_bytes(path, "\x1b[31m{\"a\":\xff\n\x00\x07"); }},
      {"another document",
       [](const auto& path) { write_bytes(path, "{\"state\":[],\"pid\":-1}\n"); }},
      {"escape characters",
       [](const auto& path) {
         write_bytes(path, R"({"state":"\u001b[31m","pid":1,"host":"\u001b","started":"\u0007",)"
                           R"("config":"\n","error":{"code":"\u001b"},)"
                           R"("streams":[{"stream":"\u001b","rows":1}]})"
                           "\n");
       }},
      {"directory",
       [](const auto& path) {
         fs::remove(path);
         fs::create_directory(path);
       }},
      {"loop", [](const auto& path) {
         fs::remove(path);
         fs::create_symlink(fs::path(path).filename(), path);
       }}};
  return all;
}

TEST(RunStatus, EveryDamageToEveryFileIsAStatus) {
  Experiment experiment;
  ASSERT_EQ(experiment.run("69:7:1").exit_code, ExitCode::kOk) << "one stream is not damaged";
  experiment.config.store.keep_chunk_cache = true;
  experiment.config.store.fresh = true;
  ASSERT_EQ(experiment.run("69:2:1").exit_code, ExitCode::kUnavailable);
  const std::string cache = experiment.config.store.cache_dir;
  FaultLog(RunFiles(cache).faults(), [](const std::string&) {}).add({});
  std::vector<std::string> files;
  for (const auto& [path, bytes] : content(cache)) files.push_back(path.substr(cache.size()));
  ASSERT_GT(files.size(), 8U);
  const std::string copy = experiment.dir().file("copy");
  for (const std::string& file : files) {
    for (const Damage& damage : damages()) {
      fs::remove_all(copy);
      fs::copy(cache, copy, fs::copy_options::recursive);
      damage.apply(copy + file);
      const RunStatus status = status_of_directory(copy);
      EXPECT_FALSE(rendered(status).empty()) << file << ", " << damage.name;
      EXPECT_FALSE(status.state.empty() || status.advice.empty()) << file << ", " << damage.name;
    }
  }
}

TEST(RunStatus, ADirectoryThatIsMissingIsRefusedAndAnEmptyOneIsNot) {
  const TempDir dir;
  for (const std::string& path : {dir.file("missing"), dir.write("file", "")}) {
    try {
      status_of_directory(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kNoInput);
      EXPECT_EQ(error.detail().code.name(), "status.directory");
      EXPECT_FALSE(error.detail().where.empty() || error.detail().found.empty() ||
                   error.detail().hint.empty());
    }
  }
  const RunStatus empty = status_of_directory(dir.path());
  EXPECT_EQ(empty.state, "none");
  EXPECT_FALSE(fs::exists(dir.file("LOCK"))) << "no file was made";
}

TEST(RunStatus, OfADirectoryThatNoRunHasUsedAsksForAnother) {
  const TempDir dir;
  fs::create_directories(dir.file("other"));
  dir.write("other/LOCK", "a file of another program");
  const RunStatus status = status_of_directory(dir.path());
  EXPECT_THAT(status.advice, HasSubstr("No run has used this directory"));
  EXPECT_THAT(status.runs, IsEmpty());
}

}  // namespace
}  // namespace encode::testing
