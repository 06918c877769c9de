// Tests what a profile changes, and that a damaged file of profiles does not cause an error.
#include "run_plan/memory/profiles.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

MemoryProfile profile(int64_t measured) {
  return {.device = "cpu (avx2)",
          .libtorch = "2.11.0",
          .encode = "1.0",
          .dtype = "float32",
          .model_type = "bert",
          .hidden_size = 384,
          .estimated_bytes = 1000,
          .measured_bytes = measured,
          .flops_per_second = 1e11};
}

TEST(Profiles, AreReadBackAndCorrectLaterEstimates) {
  const TempDir dir;
  const std::string path = dir.file("cache/encode/profiles.json");
  for (const int64_t measured : {1100, 1200, 1050}) Profiles(path).add(profile(measured));
  const Profiles profiles(path);
  ASSERT_EQ(profiles.all().size(), 3U);
  EXPECT_EQ(profiles.all().front(), profile(1100));
  EXPECT_DOUBLE_EQ(profiles.correction("cpu (avx2)", "1.0"), 1.1);
  EXPECT_DOUBLE_EQ(profiles.correction("cpu (avx512)", "1.0"), 1) << "another device";
  EXPECT_DOUBLE_EQ(profiles.correction("cpu (avx2)", "1.1"), 1) << "another version";
  EXPECT_DOUBLE_EQ(profiles.flops_per_second(profile(0)).value(), 1e11);
}

TEST(Profiles, OneWrongMeasurementCannotRuinAPlan) {
  const TempDir dir;
  Profiles profiles(dir.file("profiles.json"));
  profiles.add(profile(900'000));
  EXPECT_DOUBLE_EQ(profiles.correction("cpu (avx2)", "1.0"), 1.25);
}

TEST(Profiles, ADamagedFileAndAnotherVersionAreNotUsed) {
  const TempDir dir;
  for (const char* text : {"{", "[]", R"({"format": 99, "profiles": []})",
                           R"({"format": 1, "profiles": [{"device": 5}]})"}) {
    const Profiles profiles(dir.write("profiles.json", text));
    EXPECT_TRUE(profiles.all().empty());
    EXPECT_THAT(profiles.note(), ::testing::HasSubstr("are not used")) << text;
  }
}

TEST(Profiles, KeepTheLatest) {
  const TempDir dir;
  Profiles profiles(dir.file("profiles.json"));
  for (int64_t i = 1; i <= 70; ++i) profiles.add(profile(i));
  EXPECT_EQ(profiles.all().size(), 64U);
  EXPECT_EQ(profiles.all().back().measured_bytes, 70);
}

}  // namespace
}  // namespace encode::testing
