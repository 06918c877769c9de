// Runs with two devices of which one fails, or both.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fault_run.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

// Makes every batch last so long that both workers get chunks.
constexpr const char* kSlow = "slow@above:0*9999";

// Small chunks, so that both workers get some.
class TwoCpus : public FaultRun {
 public:
  explicit TwoCpus(std::vector<int64_t> poison = {}) : FaultRun(std::move(poison)) {
    config.hardware.devices = {parse_device("cpu"), parse_device("cpu")};
    config.store.chunk_size = 2;
  }

  void expect_rows(const std::vector<int64_t>& poison) const {
    static std::map<std::vector<int64_t>, std::vector<std::vector<float>>> known;
    if (!known.contains(poison)) known[poison] = undisturbed(poison);
    const std::vector<std::vector<float>>& expected = known[poison];
    for (int64_t row = 0; row < kRows; ++row) {
      const std::vector<float>& good = expected[static_cast<size_t>(row)];
      const bool zero = std::find(poison.begin(), poison.end(), row) != poison.end();
      EXPECT_EQ(this->row(row), zero ? std::vector<float>(good.size(), 0.0F) : good) << row;
    }
  }
};

TEST(SeveralDevices, GiveTheBytesOfOne) {
  FaultRun one;
  ASSERT_EQ(one.run().exit_code, ExitCode::kOk);
  TwoCpus two;
  const FaultRunEnd end = two.run(kSlow);
  ASSERT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
  EXPECT_EQ(read_bytes(two.final()), read_bytes(one.final()));
  EXPECT_THAT(read_bytes(two.cache("encode.log")), HasSubstr("cpu#2: train_tc chunk"));
}

TEST(SeveralDevices, AFaultOfOneChangesNoByte) {
  for (const char* fault : {"kill@batch:1*1~1", "cuda@batch:1*2", "hang@batch:1*1~0"}) {
    TwoCpus run;
    const FaultRunEnd end = run.run(fault);
    ASSERT_EQ(end.exit_code, ExitCode::kOk) << fault << render(end.error);
    run.expect_rows({});
  }
}

TEST(SeveralDevices, OneThatIsAbsentOrBrokenIsLostAndTheOtherFinishes) {
  for (const char* fault : {"absent@load*99~0", "cuda@load*99~0", "segv@above:0*99~0"}) {
    TwoCpus run;
    run.config.hardware.max_restarts = 0;
    const FaultRunEnd end = run.run(fault);
    ASSERT_EQ(end.exit_code, ExitCode::kOk) << fault << render(end.error) << end.log;
    EXPECT_THAT(end.log, HasSubstr("the run goes on without this device"));
    run.expect_rows({});
  }
}

TEST(SeveralDevices, OfUnlikeKindsAreRefused) {
  TwoCpus run;
  const FaultRunEnd end = run.run(std::string("unlike@load*9~1;") + kSlow);
  EXPECT_EQ(end.exit_code, ExitCode::kConfig);
  EXPECT_EQ(end.error.code.name(), "run.unlike_devices");
  EXPECT_THAT(end.error.found, HasSubstr("a device of another kind"));
}

TEST(SeveralDevices, APoisonRowIsNamedAndTheRestIsEncoded) {
  for (const char* what : {"cuda", "nan"}) {
    TwoCpus run({33, 77});
    run.config.store.quarantine = QuarantinePolicy::kZeros;
    const FaultRunEnd end = run.run(std::string(what) + "@token:1*9999");
    ASSERT_EQ(end.exit_code, ExitCode::kOk) << what << render(end.error) << end.log;
    for (const char* row : {"row 33 cannot be encoded", "row 77 cannot be encoded"})
      EXPECT_THAT(end.log, HasSubstr(row));
    run.expect_rows({33, 77});
  }
}

}  // namespace
}  // namespace encode::testing
