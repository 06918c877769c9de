#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "base/output_types.h"
#include "search/nearest_rows.h"
#include "store/fake_job.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> zero_rows_of(const FakeJob& job, OutputType type) {
  const TempDir dir;
  run_fake_job(dir.path(), job);
  const std::string path = dir.file("of_type.npy");
  reformat_final(job.final_path(dir.path()), path, {.type = type, .ranges_file = ""}, {});
  return zero_rows(*open_matrix(path));
}

TEST(ZeroRows, AreFoundInEveryType) {
  FakeJob job;
  job.identity.dim = 12;
  job.set_aside = {3, 17, 29};
  for (const auto& [name, type] : kOutputTypes)
    EXPECT_THAT(zero_rows_of(job, type), ElementsAre(3, 17, 29)) << name;
}

TEST(ZeroRows, ThereAreNoneIfEveryRowHasAVector) {
  FakeJob job;
  job.identity.dim = 12;
  for (const auto& [name, type] : kOutputTypes)
    EXPECT_THAT(zero_rows_of(job, type), IsEmpty()) << name;
}

}  // namespace
}  // namespace encode::testing
