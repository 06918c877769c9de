// Tests the advice after an audit that failed.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "store/verify/verify.h"

namespace encode::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

Finding finding_of(const std::string& check, CheckStatus status) {
  Finding finding;
  finding.matrix = "m";
  finding.check = check;
  finding.status = status;
  return finding;
}

TEST(VerifyNext, SaysWhatToDoAboutEveryKindOfFailure) {
  const auto next = [](const std::vector<std::string>& failed_checks) {
    VerifyReport report;
    for (const std::string& check : failed_checks)
      report.findings.push_back(finding_of(check, CheckStatus::kFailed));
    report.findings.push_back(finding_of("rows", CheckStatus::kOk));
    report.findings.push_back(finding_of("parts", CheckStatus::kWarning));
    return next_step(report);
  };
  EXPECT_EQ(next({}), "");
  for (const char* check : {"exists", "checksum", "truncation_ledger", "chunk_files"})
    EXPECT_THAT(next({check}), HasSubstr("repeat the `encode run` that made it"));
  EXPECT_THAT(next({"checksum", "norms"}), HasSubstr("repeat the `encode run`"));
  EXPECT_THAT(next({"norms"}), HasSubstr("look at the texts"));
  EXPECT_THAT(next({"fingerprint"}), HasSubstr("--fresh"));
  EXPECT_THAT(next({"group_rows"}), HasSubstr("one row for each sample"));
  VerifyReport known;
  known.findings = {finding_of("checksum", CheckStatus::kFailed)};
  known.command = "encode run --config run.yaml";
  EXPECT_THAT(next_step(known), EndsWith(": encode run --config run.yaml"));
  EXPECT_THAT(render_table(known), EndsWith("encode run --config run.yaml\n"));
  EXPECT_EQ(Json::parse(render_json(known))["next"], next_step(known));
}

TEST(VerifyNext, OfMatricesInShardsIsAMerge) {
  VerifyReport report;
  report.in_shards = true;
  report.findings = {finding_of("exists", CheckStatus::kFailed)};
  EXPECT_THAT(next_step(report), HasSubstr("repeat the `encode merge`"));
  report.command = "encode merge --config run.yaml";
  EXPECT_THAT(next_step(report), EndsWith(": encode merge --config run.yaml"));
  report.findings = {finding_of("fingerprint", CheckStatus::kFailed)};
  EXPECT_THAT(next_step(report), HasSubstr("encode shards plan"));
  report.findings = {finding_of("fingerprint", CheckStatus::kOk)};
  EXPECT_EQ(next_step(report), "");
}

}  // namespace
}  // namespace encode::testing
