// Tests runs of the real worker that have too little host memory. Without the guard the kernel
// kills the worker, and the next one finishes with smaller windows; with the guard no worker is
// killed.
#include <string>
#include <sys/resource.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "memory_group.h"
#include "real_run.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The vectors of all tokens make the windows large: 4096 rows of 96 tokens are 100 MB.
std::string long_texts() {
  std::string texts;
  for (int64_t row = 0; row < 12288; ++row) {
    for (int64_t word = 0; word < 12; ++word) {
      for (int64_t i = 0; i < 8; ++i)
        texts += static_cast<char>('a' + (row * 31 + word * 7 + i * (word + 1)) % 26);
      texts += ' ';
    }
    texts += '\n';
  }
  return texts;
}

// A run whose windows are large.
class LargeWindows : public ::testing::Test {
 protected:
  LargeWindows() {
    Json config = Json::parse(read_bytes(run_.dir().file("model/config.json")));
    config["max_position_embeddings"] = 512;
    write_bytes(run_.dir().file("model/config.json"), config.dump());
    run_.dir().write("long.txt", long_texts());
  }

  // Encodes with a cache of its own, and with `extra` flags.
  ProgramEnd encode(const std::string& name, std::vector<std::string> extra = {}) const {
    const std::vector<std::string> flags = {"--input",       run_.dir().file("long.txt"),
                                            "--pooling",     "none",
                                            "--chunk-size",  "12288",
                                            "--cache-dir",   run_.dir().file(name + "_cache"),
                                            "--no-normalize"};
    extra.insert(extra.end(), flags.begin(), flags.end());
    return run_.run(name, extra);
  }
  bool same_bytes(const std::string& a, const std::string& b) const {
    return read_bytes(run_.matrix(a)) == read_bytes(run_.matrix(b));
  }

  const RealRun run_ = RealRun("qwen2", 0);
};

// The first half is the control of the guard: without it the kernel kills the worker.
TEST_F(LargeWindows, OfARunWithoutTheGuardAreHalvedAfterAKillAndWithItFit) {
  const std::vector<std::string> no_guard = {"--memory-pressure-percent", "0"};
  const ProgramEnd free = encode("free", no_guard);
  ASSERT_EQ(free.exit_code, 0) << free.err;
  EXPECT_THAT(free.err, Not(HasSubstr("killed")));

  // Lowers the limit step by step, because the peak of the worker differs between machines.
  ProgramEnd limited;
  std::string name = "limited";
  int64_t group_bytes = 0;
  for (const int64_t percent : {70, 64, 58}) {
    group_bytes = free.peak_resident_bytes * percent / 100;
    const MemoryGroup group(group_bytes);
    RecordProperty("percent", static_cast<int>(percent));
    if (!group.exists()) GTEST_SKIP() << "this process cannot make a memory control group";
    name += 'x';
    limited = encode(name, no_guard);
    if (limited.err.find("starting another worker") != std::string::npos) break;
  }
  EXPECT_EQ(limited.exit_code, 0) << limited.err;
  EXPECT_THAT(limited.err, HasSubstr("the kernel killed encode-worker for lack of host memory"));
  EXPECT_THAT(limited.err, HasSubstr("reads ahead 50.0% of what it usually does"));
  EXPECT_TRUE(same_bytes(name, "free"));

  ProgramEnd guarded;
  {
    const MemoryGroup group(group_bytes);
    guarded = encode("guarded");
  }
  EXPECT_EQ(guarded.exit_code, 0) << guarded.err;
  EXPECT_THAT(guarded.err, Not(HasSubstr("killed")));
  EXPECT_THAT(guarded.err, HasSubstr("; the settings ask for 4,096 rows"));
  EXPECT_TRUE(same_bytes("guarded", "free"));
}

// LibTorch alone takes about 85 % of the limit, so the run is short of memory from its start.
TEST(HostMemory, PressureMakesTheWindowsSmallerAndChangesNoByte) {
  const RealRun run("bert", 20000);
  ASSERT_EQ(run.run("free", {"--memory-pressure-percent", "0"}).exit_code, 0);
  const ProgramEnd pressed =
      run.run("pressed", {"--memory-limit", "155MB", "--chunk-size", "3000", "--keep-chunks"});
  ASSERT_EQ(pressed.exit_code, 0) << pressed.err;
  EXPECT_TRUE(read_bytes(run.matrix("pressed")) == read_bytes(run.matrix("free")));
  EXPECT_THAT(pressed.err, HasSubstr("available) within hardware.memory_limit: reading ahead "
                                     "stops, caches shrink, at most a quarter of the rows is "
                                     "encoded at once"));
  EXPECT_THAT(pressed.out + pressed.err, HasSubstr("host memory was short once"));
  EXPECT_THAT(read_bytes(run.dir().file(".pressed.npy.cache/memory.jsonl")),
              HasSubstr("\"pressed\":true"));

  const ProgramEnd off =
      run.run("off", {"--memory-limit", "16MB", "--memory-pressure-percent", "0"});
  EXPECT_EQ(off.exit_code, 0) << off.err;
  EXPECT_THAT(off.out + off.err, Not(HasSubstr("short")));
  const ProgramEnd refused = run.run("refused", {"--memory-limit", "16MB"});
  EXPECT_EQ(refused.exit_code, 78) << "such a run could not stay within the limit";
  EXPECT_THAT(refused.err, HasSubstr("error[limit.memory]"));
}

// A new worker would have the same limit of the process, so none is started.
TEST(HostMemory, ALimitOfTheDataEndsTheRunAtOnce) {
  const RealRun run("bert", 10);
  const auto with_limit = [&](const std::string& name, rlim_t megabytes) {
    return Program(run.dir().path(), run.arguments(name, {}), {},
                   [megabytes] {
                     const rlimit both = {.rlim_cur = megabytes << 20, .rlim_max = megabytes << 20};
                     ::setrlimit(RLIMIT_DATA, &both);
                   })
        .wait();
  };
  for (const rlim_t megabytes : {30, 50}) {
    const ProgramEnd end = with_limit("limited" + std::to_string(megabytes), megabytes);
    EXPECT_EQ(end.exit_code, 71) << megabytes << " MB: " << end.err;
    EXPECT_THAT(end.err, Not(HasSubstr("starting another worker"))) << megabytes << " MB";
  }
  EXPECT_EQ(with_limit("enough", 4000).exit_code, 0);
}

}  // namespace
}  // namespace encode::testing
