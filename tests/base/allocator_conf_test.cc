#include "base/allocator_conf.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

namespace encode {
namespace {

using ::testing::HasSubstr;

TEST(AllocatorConf, TheFirstSourceOfAKeyWins) {
  EXPECT_EQ(merge_allocator_conf({{"config", "max_split_size_mb:64"},
                                  {"variable", "max_split_size_mb:32,expandable_segments:False"},
                                  {"default", "expandable_segments:True"}}),
            "max_split_size_mb:64,expandable_segments:False");
}

TEST(AllocatorConf, TheLastSettingOfASourceWins) {
  EXPECT_EQ(merge_allocator_conf({{"config", "expandable_segments:True,expandable_segments:False"},
                                  {"variable", "expandable_segments:True"}}),
            "expandable_segments:False");
}

TEST(AllocatorConf, WhiteSpaceDoesNotMakeAnotherKey) {
  EXPECT_EQ(merge_allocator_conf({{"config", " expandable_segments : False , "},
                                  {"default", "expandable_segments:True"}}),
            "expandable_segments:False");
}

TEST(AllocatorConf, AListIsOneValue) {
  const std::string list = "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]";
  EXPECT_EQ(merge_allocator_conf({{"config", list + ",backend:native"},
                                  {"variable", "roundup_power2_divisions:[128:8,2048:8]"}}),
            list + ",backend:native");
}

TEST(AllocatorConf, EverySettingThatIsNotValidIsRefusedWithItsSource) {
  struct Case {
    std::string text;
    std::string what;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {"expandable_segment:True", "unknown setting", "'expandable_segments'?"},
      {"x:1", "unknown setting", "one of backend"},
      {"expandable_segments:true", "expandable_segments has a value", "True or False"},
      {"expandable_segments", "has no value", "key:value"},
      {"expandable_segments:", "has a value that is not valid", "True or False"},
      {"max_split_size_mb:-1", "max_split_size_mb has a value", "megabytes"},
      {"max_split_size_mb:64MB", "max_split_size_mb has a value", "megabytes"},
      {"garbage_collection_threshold:1.5", "garbage_collection", "between 0 and 1"},
      {"per_process_memory_fraction:nan", "per_process_memory", "between 0 and 1"},
      {"backend:malloc", "backend has a value", "native or cudaMallocAsync"},
      {"roundup_power2_divisions:[256:1", "roundup_power2", "list"},
      {"roundup_power2_divisions:256:1]", "roundup_power2", "list"},
      {"roundup_power2_divisions:[" + std::string(1 << 20, '1') + "]", "roundup_power2", "list"},
      {"backend:native;max_split_size_mb:1", "backend has a value", "native"},
      {"\x1b[31m:1", "unknown setting", "one of"}};
  for (const Case& one : cases) {
    try {
      merge_allocator_conf({{"PYTORCH_ALLOC_CONF", one.text}});
      FAIL() << one.text;
    } catch (const Error& error) {
      const ErrorDetail& detail = error.detail();
      EXPECT_EQ(detail.exit_code, ExitCode::kConfig);
      EXPECT_EQ(detail.code.name(), "config.allocator");
      EXPECT_EQ(detail.where, "PYTORCH_ALLOC_CONF");
      EXPECT_THAT(detail.what, HasSubstr(one.what));
      EXPECT_THAT(detail.expected, HasSubstr(one.expected));
      EXPECT_FALSE(detail.found.empty() || detail.hint.empty());
      EXPECT_LT(detail.found.size(), 400U);
      EXPECT_EQ(detail.found.find('\x1b'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace encode
