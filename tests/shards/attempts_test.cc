// Tests what stands in the way of an attempt, what its errors advise, and that readers take the
// list of the parts for one matrix.
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/refused.h"
#include "run_plan/shard_plan.h"
#include "shards/attempt.h"
#include "shards/sharded.h"
#include "store/matrix/matrix.h"
#include "store/verify/compare.h"
#include "store/verify/verify.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Calls `work` as a user who cannot read everything, as root can. The files below `folder` are then
// those of that user.
template <typename Work>
void as_nobody(const std::string& folder, const Work& work) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder.c_str(), kNobody, kNobody), 0);
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      ASSERT_EQ(::lchown(entry.path().c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  work();
  ASSERT_EQ(::seteuid(::getuid()), 0);
}

TEST(Attempts, OneThatCannotBeReadIsLeftOut) {
  Sharded experiment;
  experiment.config.store.chunk_size = 1;
  experiment.config.hardware.max_restarts = 0;
  ASSERT_FALSE(experiment.plan(1).code);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(experiment.run_shard(0, "crash:2:9").code);
  const std::vector<std::string> paths = experiment.attempts(0);
  ASSERT_THAT(paths, SizeIs(2));
  const Shard shard = read_shard(experiment.cache(""), 0);
  const std::vector<std::string> names = attempts_of(ShardFiles(experiment.cache("")), 0);
  fs::permissions(experiment.cache("shards/00000/" + names[0]), fs::perms::none);
  std::vector<std::string> left_out;
  std::vector<std::string> readable;
  as_nobody(experiment.dir().path(), [&] {
    readable = readable_attempts(experiment.config, shard, names,
                                 [&](const std::string& name, const ErrorDetail& detail) {
                                   left_out.push_back(name);
                                   EXPECT_EQ(detail.exit_code, ExitCode::kNoPermission);
                                 });
  });
  fs::permissions(experiment.cache("shards/00000/" + names[0]), fs::perms::owner_all);
  EXPECT_THAT(left_out, ElementsAre(names[0]));
  EXPECT_THAT(readable, ElementsAre(names[1])) << "the control";
}

TEST(Attempts, OneThatCannotBeReadEndsNoShard) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(1).code);
  const std::string loop = experiment.cache("shards/00000/attempt-0123456789abcdef");
  fs::create_directory_symlink(loop, loop);
  ASSERT_FALSE(experiment.run_shard(0).code);
  ASSERT_FALSE(experiment.merge().code);
  EXPECT_EQ(experiment.merged(), undivided());
}

TEST(Attempts, AFolderInThePlaceOfTheRecordIsFoundAtTheStart) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(1).code);
  const std::string part = experiment.cache("shards/00000/part.json");
  fs::create_directory(part);
  for (const ErrorDetail& error : {experiment.run_shard(0), experiment.merge()}) {
    EXPECT_EQ(error.exit_code, ExitCode::kConfig);
    EXPECT_EQ(error.where, part);
  }
  EXPECT_THAT(experiment.attempts(0), IsEmpty()) << "nothing was encoded";
  fs::remove(part);
  EXPECT_FALSE(experiment.run_shard(0).code) << "the control";
}

TEST(Attempts, AChangedRowNeedsAnotherPlanAndNotFresh) {
  Sharded experiment;
  ASSERT_FALSE(experiment.plan(2).code);
  const std::string planned = read_bytes(experiment.dir().file("tc.jsonl"));
  experiment.write_input("tc", Experiment::kRows, "other");
  const ErrorDetail error = experiment.run_shard(0);
  EXPECT_EQ(error.code.name(), "text.changed");
  EXPECT_THAT(error.hint, Not(HasSubstr("--fresh")));
  EXPECT_THAT(error.hint, HasSubstr("encode shards plan"));
  EXPECT_THAT(error.hint, HasSubstr("--cache-dir"));
}

// A merged experiment, and the same in one run.
class MergedList : public ::testing::Test {
 protected:
  static void make(Sharded& experiment) {
    experiment.encode(5);
    ASSERT_FALSE(experiment.merge().code);
  }
};

TEST_F(MergedList, ReadsAsOneMatrix) {
  Sharded experiment;
  make(experiment);
  for (size_t i = 0; i < kNames.size(); ++i) {
    const auto matrix = open_matrix(experiment.cache(kNames[i] + "_embeddings.parts.json"));
    ASSERT_EQ(matrix->rows(), Experiment::kRows);
    const auto row_bytes = static_cast<size_t>(matrix->row_bytes());
    for (int64_t begin = 0; begin <= matrix->rows(); ++begin) {
      for (int64_t end = begin; end <= matrix->rows(); ++end) {
        MatrixBuffer buffer;
        const std::span<const std::byte> stored = matrix->stored({begin, end}, buffer);
        const std::string found(reinterpret_cast<const char*>(stored.data()), stored.size());
        ASSERT_EQ(found, undivided()[i].substr(static_cast<size_t>(begin) * row_bytes,
                                               static_cast<size_t>(end - begin) * row_bytes));
      }
    }
  }
}

TEST_F(MergedList, APartThatIsNotTheOneInTheListIsNotRead) {
  Sharded experiment;
  make(experiment);
  const std::string list = experiment.cache("train_tc_embeddings.parts.json");
  const std::string part = experiment.cache("train_tc_embeddings-00001-of-00005.npy");
  fs::rename(manifest_path(part), manifest_path(part) + ".away");
  EXPECT_EQ(refused([&] { open_matrix(list); }).code.name(), "store.damaged");
  fs::copy_file(manifest_path(experiment.cache("train_tc_embeddings-00002-of-00005.npy")),
                manifest_path(part));
  EXPECT_EQ(refused([&] { open_matrix(list); }).code.name(), "store.damaged");
  fs::rename(manifest_path(part) + ".away", manifest_path(part));
  EXPECT_EQ(open_matrix(list)->rows(), Experiment::kRows) << "the control";
}

TEST_F(MergedList, IsComparedWithTheMatrixOfOneRun) {
  Sharded experiment;
  make(experiment);
  Sharded other;
  ASSERT_EQ(other.run().exit_code, ExitCode::kOk);
  const std::string list = experiment.cache("train_tc_embeddings.parts.json");
  EXPECT_TRUE(compare_matrices(list, other.tc(), {}).identical);
  EXPECT_TRUE(compare_matrices(other.tc(), list, {}).identical);
  EXPECT_TRUE(compare_matrices(list, list, {}).identical);
  const CompareReport report = compare_matrices(list, other.commit(), {});
  EXPECT_FALSE(report.identical);
  EXPECT_EQ(report.rows, Experiment::kRows);
  for (const RowDifference& row : report.worst) EXPECT_LT(row.row, Experiment::kRows);
  ASSERT_FALSE(report.worst.empty());
  const CompareReport undivided_report = compare_matrices(other.tc(), other.commit(), {});
  EXPECT_EQ(report.worst.front().row, undivided_report.worst.front().row)
      << "rows are numbered over the whole list";
}

TEST_F(MergedList, IsCheckedWithItsFolder) {
  Sharded experiment;
  make(experiment);
  const VerifyReport good = verify_folder(experiment.cache(""), {});
  EXPECT_EQ(good.exit_code(), ExitCode::kOk);
  EXPECT_THAT(good.matrices, SizeIs(15)) << "each part once";
  fs::remove(experiment.cache("train_tc_embeddings-00001-of-00005.npy"));
  fs::remove(manifest_path(experiment.cache("train_tc_embeddings-00001-of-00005.npy")));
  const VerifyReport bad = verify_folder(experiment.cache(""), {});
  EXPECT_EQ(bad.exit_code(), ExitCode::kNoInput) << "only the list names the part";
  EXPECT_THAT(next_step(bad), HasSubstr("encode merge"));
  EXPECT_THAT(next_step(bad), Not(HasSubstr("encode run")));
}

}  // namespace
}  // namespace encode::testing
