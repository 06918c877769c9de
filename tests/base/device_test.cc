#include "encode/device.h"

#include <gtest/gtest.h>

#include "base/refused.h"

namespace encode {
namespace {

using testing::refused;

TEST(DeviceNames, ComeBack) {
  for (const char* name : {"auto", "cpu", "cuda", "cuda:0", "cuda:7", "cuda:99"})
    EXPECT_EQ(to_string(parse_device(name)), name);
  EXPECT_EQ(parse_device("auto"), DeviceChoice());
}

TEST(DeviceNames, HaveANumberThatIsZeroIfItIsLeftOut) {
  EXPECT_EQ(parse_device("cuda:12").ordinal(), 12);
  EXPECT_EQ(parse_device("cuda").ordinal(), 0);
  EXPECT_NE(parse_device("cuda"), parse_device("cuda:0")) << "the plan shows every GPU for cuda";
}

TEST(DeviceNames, AreNothingElse) {
  for (const char* name : {"", "gpu", "CPU", "cpu:0", "auto:1", "cuda:", "cuda:-1", "cuda:01",
                           "cuda:1x", "cuda:100", "cuda: 1", "cuda:99999999999999999999"})
    EXPECT_EQ(find_device(name), std::nullopt) << name;
  EXPECT_EQ(refused([] { parse_device("gpu"); }).exit_code, ExitCode::kInternal);
}

}  // namespace
}  // namespace encode
