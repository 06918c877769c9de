// Runs two workers through many faults. Every build runs a short form; the test soak.devices runs
// the long one.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/npy.h"
#include "fault_run.h"

namespace encode::testing {
namespace {

int64_t from_environment(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::stoll(text);
}

class TwoWorkers : public FaultRun {
 public:
  TwoWorkers() {
    config.hardware.devices = {parse_device("cpu"), parse_device("cpu")};
    config.hardware.max_restarts = 3;
    config.store.chunk_size = 2;
    config.store.quarantine = QuarantinePolicy::kZeros;
  }
};

std::string random_faults(std::mt19937_64& random) {
  constexpr auto kKinds = std::to_array<const char*>(
      {"oom", "nvml", "cuda", "assert", "cublas", "late", "refused", "bad_alloc", "abort", "segv",
       "kill", "exit75", "hang", "nan", "inf", "zero", "norm"});
  std::string faults;
  for (uint64_t count = 1 + random() % 3; count > 0; --count) {
    const uint64_t times = random() % 2 == 0 ? 1 : 9999;
    faults += std::string(kKinds.at(random() % kKinds.size())) +
              "@batch:" + std::to_string(1 + random() % 20) + "*" + std::to_string(times);
    if (random() % 2 == 0) faults += "~" + std::to_string(random() % 2);
    faults += ";";
  }
  faults.pop_back();
  return faults;
}

// Returns the number of rows that have another vector than without faults, apart from the zeros of
// rows that the ledger lists.
int64_t wrong_rows(const FaultRun& run, const std::vector<std::vector<float>>& expected) {
  const std::vector<SetAsideRow> aside =
      set_aside_rows(run.final(), read_manifest(run.final()).value());
  int64_t wrong = 0;
  for (int64_t row = 0; row < FaultRun::kRows; ++row) {
    const std::vector<float>& good = expected[static_cast<size_t>(row)];
    const std::vector<float> found = run.row(row);
    const bool listed = std::any_of(aside.begin(), aside.end(),
                                    [row](const SetAsideRow& other) { return other.row == row; });
    wrong += found == (listed ? std::vector<float>(good.size(), 0.0F) : good) ? 0 : 1;
  }
  return wrong;
}

TEST(DevicesSoak, RandomFaultsGiveNoWrongVector) {
  const std::vector<std::vector<float>> expected = undisturbed({});
  std::mt19937_64 random(static_cast<uint64_t>(from_environment("ENCODE_SOAK_SEED", 1)));
  int64_t finished = 0;
  const int64_t schedules = from_environment("ENCODE_SOAK_SCHEDULES", 1);
  for (int64_t schedule = 0; schedule < schedules; ++schedule) {
    const std::string faults = random_faults(random);
    SCOPED_TRACE(faults);
    TwoWorkers run;
    FaultRunEnd end = run.run(faults);
    std::cout << faults << ": exit " << static_cast<int>(end.exit_code) << " "
              << end.error.code.name() << std::endl;
    finished += end.exit_code == ExitCode::kOk ? 1 : 0;
    EXPECT_THAT(end.exit_code,
                ::testing::AnyOf(ExitCode::kOk, ExitCode::kData, ExitCode::kUnavailable,
                                 ExitCode::kInternal, ExitCode::kTempFail));
    // A run on devices that work completes what is there.
    if (end.exit_code != ExitCode::kOk) end = run.run();
    ASSERT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
    EXPECT_EQ(wrong_rows(run, expected), 0);
  }
  std::cout << finished << " of " << schedules << " runs finished in spite of their faults\n";
}

// Returns the resident memory of this process without the pages of files: the first fault touches
// code that no chunk before it has used.
int64_t own_bytes() {
  int64_t size = 0;
  int64_t resident = 0;
  int64_t shared = 0;
  std::ifstream("/proc/self/statm") >> size >> resident >> shared;
  return (resident - shared) * ::sysconf(_SC_PAGESIZE);
}

struct Growth {
  double first = 0;
  double last = 0;
};

// Compares the largest of the first hundred values with the largest of the last hundred.
Growth growth(const std::vector<int64_t>& values) {
  const auto ends = std::min<std::ptrdiff_t>(100, std::ssize(values));
  return {.first = static_cast<double>(*std::max_element(values.begin(), values.begin() + ends)),
          .last = static_cast<double>(*std::max_element(values.end() - ends, values.end()))};
}

TEST(DevicesSoak, ManyChunksWithAFaultInEvery37thBatchNeedNoHelp) {
  const int64_t rows = from_environment("ENCODE_SOAK_CHUNKS", 100);
  TwoWorkers run;
  std::string texts;
  for (int64_t row = 0; row < rows; ++row)
    texts += std::string(static_cast<size_t>(2 + row * 7 % 13), static_cast<char>('a' + row % 26)) +
             "\n";
  run.dir().write("tc.txt", texts);
  run.config.store.chunk_size = 1;
  run.config.hardware.worker_chunks = 50;
  run.config.streams[0].speed.batch_tokens = 24;
  std::vector<int64_t> supervisor;
  std::vector<int64_t> worker;
  run.environment.on_event = [&](const WorkerEvent& event) {
    const auto* chunk = std::get_if<ChunkDone>(&event);
    if (chunk == nullptr) return;
    supervisor.push_back(own_bytes());
    worker.push_back(chunk->host_rss_bytes);
  };
  const FaultRunEnd end = run.run("cuda@every:37*9999~0;kill@every:37*9999~1");
  ASSERT_EQ(end.exit_code, ExitCode::kOk) << render(end.error) << end.log;
  EXPECT_EQ(read_npy_header(run.final()).rows, rows);
  EXPECT_EQ(read_manifest(run.final()).value().stats.set_aside_rows, 0);
  const auto lines = [&end](const std::string& text) {
    int64_t count = 0;
    for (size_t at = end.log.find(text); at != std::string::npos; at = end.log.find(text, at + 1))
      ++count;
    return count;
  };
  const Growth here = growth(supervisor);
  const Growth there = growth(worker);
  constexpr double kMega = 1e6;
  std::cout << rows << " chunks, " << lines("starting another worker") << " faults, "
            << lines("a new worker process replaces the old one") << " retirements; supervisor "
            << here.first / kMega << " to " << here.last / kMega << " MB, workers "
            << there.first / kMega << " to " << there.last / kMega << " MB\n";
  if (rows < 1000) return;  // the first hundred chunks are most of a short run
  EXPECT_LT(here.last - here.first, 0.3 * kMega) << "far below the records of all chunks";
  EXPECT_NEAR(there.last / there.first, 1, 0.05);
}

}  // namespace
}  // namespace encode::testing
