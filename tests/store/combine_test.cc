// Tests matrices that have the columns of others side by side.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "store/fake_job.h"
#include "support/error_of.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;

TEST(Combine, ColumnsOfThePartsSideBySide) {
  const TempDir dir;
  FakeJob tc;
  FakeJob commit;
  commit.identity = {.name = "train_commit", .fingerprint = R"({"seed":9})", .rows = 30, .dim = 3};
  run_fake_job(dir.path(), tc);
  run_fake_job(dir.path(), commit);
  const std::vector<std::string> parts = {tc.final_path(dir.path()), commit.final_path(dir.path())};
  const std::string combined = final_path(dir.path(), "train_combined");
  combine_finals(parts, combined, "train_combined");

  const std::string bytes = read_bytes(combined);
  const std::string left = expected_final(tc);
  const std::string right = expected_final(commit);
  for (size_t row = 0; row < 30; ++row) {
    EXPECT_EQ(bytes.substr(128 + row * 28, 16), left.substr(128 + row * 16, 16));
    EXPECT_EQ(bytes.substr(128 + row * 28 + 16, 12), right.substr(128 + row * 12, 12));
  }
  EXPECT_EQ(final_state(combined, combined_identity(parts, "train_combined"), true),
            FinalState::kValid);
  EXPECT_THAT(read_manifest(combined)->parts,
              ElementsAre("train_tc_embeddings.npy", "train_commit_embeddings.npy"));
}

TEST(Combine, RefusesDamagedAndUnequalParts) {
  const TempDir dir;
  FakeJob tc;
  FakeJob commit;
  commit.identity = {.name = "train_commit", .fingerprint = R"({"seed":9})", .rows = 29, .dim = 3};
  run_fake_job(dir.path(), tc);
  run_fake_job(dir.path(), commit);
  const std::string left = tc.final_path(dir.path());
  const std::string combined = dir.file("combined.npy");
  EXPECT_EQ(error_of([&] {
              combine_finals({left, commit.final_path(dir.path())}, combined, "c");
            }).code.name(),
            "store.combine_rows");
  std::string bytes = read_bytes(left);
  bytes[200] = static_cast<char>(bytes[200] ^ 4);
  write_bytes(left, bytes);
  EXPECT_EQ(error_of([&] {
              combine_finals({left, left}, combined, "c");
            }).code.name(),
            "store.damaged");
  EXPECT_FALSE(std::filesystem::exists(combined));
}

// As if one stream of the split had been made with an older filter.
TEST(Combine, RefusesPartsOfOtherRecords) {
  const TempDir dir;
  const FakeJob tc = filtered_job();
  FakeJob commit = filtered_job();
  commit.identity.name = "train_commit";
  FakeJob plain;
  plain.identity.name = "train_plain";
  for (const FakeJob& job : {tc, commit, plain}) run_fake_job(dir.path(), job);
  const std::string combined = dir.file("combined.npy");
  combine_finals({tc.final_path(dir.path()), commit.final_path(dir.path())}, combined, "c");
  EXPECT_EQ(
      error_of([&] {
        combine_finals({tc.final_path(dir.path()), plain.final_path(dir.path())}, combined, "c");
      }).code.name(),
      "store.combine_rows");
}

}  // namespace
}  // namespace encode::testing
