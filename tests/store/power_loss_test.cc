// Tests that power loss at any moment loses no committed chunk and leaves no torn file under a
// final name. power_loss.h says what the simulated disk may do. image_cut_test.cc does the same
// with a real file system.
#include "store/power_loss.h"

#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <random>

#include <gtest/gtest.h>

#include "store/torture.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

// A run that was recorded.
struct Recording {
  struct Commit {
    size_t changes = 0;  // before commit() returned
    int64_t chunk = 0;
  };

  FakeJob job;
  WriteList list;
  std::vector<Commit> commits;
};

WriteList* recorder = nullptr;

Recording record(const FakeJob& job) {
  const TempDir dir;
  const std::string cache = dir.file("cache");
  Recording recording = {.job = job, .list = WriteList(cache), .commits = {}};
  FaultPlan plan = fault_plan(cache, FaultMode::kNone, 0);
  plan.on_change = [](const Change& change) { recorder->add(change); };
  recorder = &recording.list;
  set_fault_plan(plan);
  run_fake_job(cache, job, [&](int64_t chunk) {
    recording.commits.push_back({.changes = recording.list.size(), .chunk = chunk});
  });
  set_fault_plan({});
  return recording;
}

FakeJob job_of(int variant) {
  FakeJob job = variant % 2 == 0 ? FakeJob() : token_embeddings_job();
  if (variant % 4 == 1) job = passages_job();
  job.keep_chunks = variant / 2 % 2 == 0;
  job.chunk_rows = 3 + variant;
  if (variant % 3 == 0) job.set_aside = {2, 17, 18};
  if (variant % 3 == 1) job.folder_chunks = 2;
  job.together = 1 + variant % 4;
  return job;
}

constexpr int kVariants = 6;

// Cuts the power at a random moment and goes on. Returns what is wrong, or "".
std::string problem_after(const Recording& recording, uint32_t seed) {
  std::mt19937 random(seed);
  const size_t count = random() % (recording.list.size() + 1);
  const TempDir dir;
  const std::string cache = dir.file("cache");
  recording.list.write_disk(count, seed, cache);
  std::vector<int64_t> acked;
  for (const Recording::Commit& commit : recording.commits) {
    if (commit.changes <= count) acked.push_back(commit.chunk);
  }
  std::string problem = torn_file(cache, recording.job);
  const std::string final_path = recording.job.final_path(cache);
  if (problem.empty() && count == recording.list.size() &&
      final_state(final_path, recording.job.identity, true) != FinalState::kValid) {
    problem = "the final was published and is gone";
  }
  if (problem.empty()) problem = resume_problem(cache, recording.job, acked);
  return problem.empty() ? "" : fmt::format("after change {}: {}", count, problem);
}

TEST(PowerLoss, NoCommittedChunkIsLostAndNoFileIsTorn) {
  std::vector<Recording> recordings;
  for (int variant = 0; variant < kVariants; ++variant)
    recordings.push_back(record(job_of(variant)));
  const uint32_t seeds = soak_round() == 0 ? 300 : 2000;
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    const Recording& recording = recordings[seed % kVariants];
    EXPECT_EQ(problem_after(recording, soak_round() * 1'000'003U + seed), "") << "seed " << seed;
  }
  std::cout << fmt::format("count: {} simulated power losses\n", seeds);
}

// Shows that the test can fail: a store without one of its syncs must fail it.
struct LostSync {
  const char* name;
  bool (*lost)(const std::string& path);
};

std::ostream& operator<<(std::ostream& out, const LostSync& sync) { return out << sync.name; }

// Returns how many of 300 cuts have a problem.
int problems_without(Recording recording, bool (*lost)(const std::string& path)) {
  recording.list.lose_syncs(lost);
  int problems = 0;
  for (uint32_t seed = 1; seed <= 300; ++seed)
    problems += problem_after(recording, seed).empty() ? 0 : 1;
  std::cout << fmt::format("{} of 300 cuts have a problem\n", problems);
  return problems;
}

class PowerLossControl : public ::testing::TestWithParam<LostSync> {};

TEST_P(PowerLossControl, MissingSyncIsSeen) {
  EXPECT_GT(problems_without(record(job_of(0)), GetParam().lost), 0);
}

bool is_directory(const std::string& path) { return path.empty() || path.ends_with("_chunks"); }
bool is_subfolder(const std::string& path) {
  return std::filesystem::path(path).filename().string().find_first_not_of("0123456789") ==
             std::string::npos &&
         !path.empty();
}
bool is_log(const std::string& path) { return path.ends_with("/chunks.log"); }

INSTANTIATE_TEST_SUITE_P(Without, PowerLossControl,
                         ::testing::Values(LostSync{"FileSync",
                                                    [](const std::string& path) {
                                                      return !is_directory(path) && !is_log(path);
                                                    }},
                                           LostSync{"DirectorySync", is_directory},
                                           LostSync{"LogSync", is_log}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PowerLossControl, MissingSyncOfASubfolderIsSeen) {
  const Recording recording = record(job_of(4));
  ASSERT_EQ(recording.job.folder_chunks, 2);
  EXPECT_GT(problems_without(recording, is_subfolder), 0) << "of the sub-folders";
  EXPECT_GT(problems_without(recording,
                             [](const std::string& path) { return path.ends_with("_chunks"); }),
            0)
      << "of the folder in which they were made";
}

}  // namespace
}  // namespace encode::testing
