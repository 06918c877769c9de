// Tests the audit of the source rows beside a matrix of a filtered input.
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/fake_job.h"
#include "store/verify/verify.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> failures(const std::string& matrix) {
  std::vector<std::string> checks;
  for (const Finding& finding : verify_files({matrix}, {}).findings)
    if (finding.status == CheckStatus::kFailed) checks.push_back(finding.check);
  return checks;
}

TEST(VerifySourceRows, AnyChangedByteIsDamageAndSoIsNoFile) {
  const TempDir dir;
  const FakeJob job = filtered_job();
  run_fake_job(dir.path(), job);
  const std::string matrix = job.final_path(dir.path());
  const std::string path = source_rows_path(matrix);
  const std::string whole = read_bytes(path);
  EXPECT_THAT(failures(matrix), IsEmpty());
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    std::string bytes = whole;
    bytes[byte] = static_cast<char>(bytes[byte] ^ 1);
    write_bytes(path, bytes);
    EXPECT_THAT(failures(matrix), ElementsAre("source_rows")) << "byte " << byte;
  }
  std::filesystem::remove(path);
  EXPECT_THAT(failures(matrix), ElementsAre("source_rows"));
}

}  // namespace
}  // namespace encode::testing
