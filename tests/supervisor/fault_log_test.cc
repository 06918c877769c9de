// Tests the records of faults: what is written is read, and a damaged, foreign or full file neither
// ends a run nor loses the records that are whole.
#include "run_record/fault_log.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/run_files.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_bytes;
using ::testing::SizeIs;
using testing::TempDir;
using testing::write_bytes;

struct Logged {
  std::vector<std::string> problems;

  FaultLog open(const std::string& path) {
    return {path, [this](const std::string& problem) { problems.push_back(problem); }};
  }
};

FaultRecord example() {
  return {.type = FaultType::kOutOfMemory,
          .action = FaultAction::kBatchHalved,
          .stream = "train_tc",
          .chunk = 17,
          .rows = {.begin = 17000, .end = 18000},
          .code = "device.memory",
          .message = "a batch does not fit",
          .config_path = "experiment.yaml",
          .model_path = "/models/minilm",
          .dtype = "bfloat16",
          .device = "cuda:0 NVIDIA H100"};
}

TEST(FaultLog, EveryTypeAndActionComesBackAsItWasWritten) {
  const TempDir dir;
  const std::string path = RunFiles(dir.path()).faults();
  Logged logged;
  FaultLog log = logged.open(path);
  std::vector<FaultRecord> written;
  for (const auto& [type_name, type] : kFaultTypes) {
    for (const auto& [action_name, action] : kFaultActions) {
      FaultRecord fault = example();
      fault.type = type;
      fault.action = action;
      written.push_back(fault);
      log.add(fault);
    }
  }
  const FaultHistory history = read_faults(path);
  EXPECT_THAT(history.problems, IsEmpty());
  EXPECT_FALSE(history.dropped);
  ASSERT_THAT(history.records, SizeIs(written.size()));
  for (size_t i = 0; i < written.size(); ++i) {
    const FaultRecord& read = history.records[i];
    EXPECT_EQ(read.type, written[i].type);
    EXPECT_EQ(read.action, written[i].action);
    EXPECT_EQ(read.stream, "train_tc");
    EXPECT_EQ(read.chunk, 17);
    EXPECT_EQ(read.rows, (RowRange{17000, 18000}));
    EXPECT_EQ(read.code, "device.memory");
    EXPECT_EQ(read.message, "a batch does not fit");
    EXPECT_EQ(read.config_path, "experiment.yaml");
    EXPECT_EQ(read.model_path, "/models/minilm");
    EXPECT_EQ(read.dtype, "bfloat16");
    EXPECT_EQ(read.device, "cuda:0 NVIDIA H100");
    EXPECT_GT(read.time, 0);
  }
}

TEST(FaultLog, HoldsOnlyPrintableAsciiAndBoundedLines) {
  const TempDir dir;
  const std::string path = RunFiles(dir.path()).faults();
  Logged logged;
  FaultLog log = logged.open(path);
  FaultRecord fault = example();
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  for (std::string* text : {&fault.stream, &fault.code, &fault.message, &fault.config_path,
                            &fault.model_path, &fault.dtype, &fault.device}) {
    for (int i = 0; i < 100; ++i) *text += every_byte;
  }
  log.add(fault);
  const std::string bytes = read_bytes(path);
  EXPECT_LT(bytes.size(), 64U << 10);
  for (const char c : bytes) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  EXPECT_THAT(read_faults(path).records, SizeIs(1));
}

TEST(FaultLog, EveryCutOfTheFileKeepsTheWholeRecordsAndTheNextOne) {
  const TempDir dir;
  const std::string path = RunFiles(dir.path()).faults();
  Logged logged;
  for (int i = 0; i < 3; ++i) logged.open(path).add(example());
  const std::string whole = read_bytes(path);
  for (size_t size = 0; size <= whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    write_bytes(path, cut);
    const auto ends = std::count(cut.begin(), cut.end(), '\n');
    const size_t complete = ends > 0 ? static_cast<size_t>(ends - 1) : 0;
    const FaultHistory before = read_faults(path);
    ASSERT_THAT(before.records, SizeIs(complete)) << size;
    ASSERT_THAT(before.problems, IsEmpty()) << size;
    logged.open(path).add(example());
    // The cut may have removed only the newline of a record, which is then whole again.
    ASSERT_THAT(read_faults(path).records,
                ::testing::AnyOf(SizeIs(complete + 1), SizeIs(complete + 2)))
        << size;
  }
  EXPECT_THAT(logged.problems, IsEmpty());
}

TEST(FaultLog, StaysBoundedDropsTheOldestAndSaysSo) {
  const TempDir dir;
  const std::string path = RunFiles(dir.path()).faults();
  constexpr std::uintmax_t kMaxBytes = 4 << 20;
  Logged logged;
  FaultLog log = logged.open(path);
  FaultRecord fault = example();
  fault.message = std::string(1000, 'm');
  constexpr int64_t kRecords = 10000;
  for (int64_t i = 0; i < kRecords; ++i) {
    fault.chunk = i;
    log.add(fault);
  }
  EXPECT_LE(std::filesystem::file_size(path), kMaxBytes);
  EXPECT_LE(std::filesystem::file_size(older_records_path(path)), kMaxBytes);
  const FaultHistory history = read_faults(path);
  EXPECT_TRUE(history.dropped);
  EXPECT_THAT(history.problems, IsEmpty());
  ASSERT_GT(history.records.size(), 3000U);
  for (size_t i = 0; i < history.records.size(); ++i) {
    ASSERT_EQ(history.records[history.records.size() - 1 - i].chunk,
              kRecords - 1 - static_cast<int64_t>(i))
        << "the newest records, without a gap";
  }
  EXPECT_THAT(logged.problems, IsEmpty());
}

TEST(FaultLog, DamagedLinesAreCountedAndTheOthersAreRead) {
  const TempDir dir;
  const std::string path = RunFiles(dir.path()).faults();
  Logged logged;
  FaultLog log = logged.open(path);
  for (int i = 0; i < 2; ++i) log.add(example());
  const std::string whole = read_bytes(path);
  for (const std::string line :
       {"not json", "[]", "{}", "{\"type\":7}", "\x1b[31m", "{\"a\":\"\xff\"}"}) {
    write_bytes(path, whole + line + "\n");
    const FaultHistory history = read_faults(path);
    EXPECT_THAT(history.records, SizeIs(2)) << line;
    EXPECT_THAT(history.problems, SizeIs(1)) << line;
  }
}

// Puts something that is not ours at a path, and tells whether it is still there.
struct Foreign {
  std::string name;
  std::function<void(const std::string& path, const TempDir& dir)> make;
};

TEST(FaultLog, LeavesForeignFilesAloneAndSaysSoOnce) {
  const std::vector<Foreign> kinds = {
      {"text", [](const auto& path, const auto&) { write_bytes(path, "my notes\n"); }},
      {"other records",
       [](const auto& path, const auto&) { write_bytes(path, "{\"encode\":\"memory\"}\n"); }},
      {"directory", [](const auto& path, const auto&) { std::filesystem::create_directory(path); }},
      {"fifo", [](const auto& path, const auto&) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }},
      {"link", [](const auto& path, const auto& dir) {
         std::filesystem::create_symlink(dir.write("target", "x"), path);
       }}};
  for (const bool older : {false, true}) {
    for (const Foreign& kind : kinds) {
      const TempDir dir;
      const std::string path = RunFiles(dir.path()).faults();
      kind.make(older ? older_records_path(path) : path, dir);
      const auto type = std::filesystem::symlink_status(older ? older_records_path(path) : path);
      Logged logged;
      FaultLog log = logged.open(path);
      FaultRecord fault = example();
      fault.message = std::string(1000, 'm');
      for (int i = 0; i < (older ? 5000 : 2); ++i) log.add(fault);
      EXPECT_THAT(logged.problems, SizeIs(1)) << kind.name;
      EXPECT_EQ(std::filesystem::symlink_status(older ? older_records_path(path) : path).type(),
                type.type())
          << kind.name;
      EXPECT_THAT(read_faults(path).problems, SizeIs(1)) << kind.name;
      const std::string target = dir.file("target");
      EXPECT_EQ(std::filesystem::exists(target) ? read_bytes(target) : "x", "x")
          << "the target of a link is not written";
    }
  }
}

TEST(FaultLog, AFailedWriteIsOneSentenceAndNoError) {
  Logged logged;
  FaultLog log = logged.open("/dev/null/faults.jsonl");
  for (int i = 0; i < 3; ++i) log.add(example());
  ASSERT_THAT(logged.problems, SizeIs(1));
  EXPECT_THAT(logged.problems[0], HasSubstr("/dev/null/faults.jsonl"));
}

}  // namespace
}  // namespace encode
