// Tests a run with --output beside the result of an earlier one.
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/leavings.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class SecondRun : public Leavings {};

TEST_F(SecondRun, ASecondRunFindsTheResultCompleteAndEncodesNothing) {
  ASSERT_EQ(run().exit_code, 0);
  const std::string record = read_bytes(dir_.file("out/.x.npy.run.json"));
  const ProgramEnd again = run();
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, output() + ": already complete; nothing was encoded\n");
  EXPECT_EQ(encoded(), 3);
  EXPECT_EQ(left(), usual());
  EXPECT_EQ(read_bytes(dir_.file("out/.x.npy.run.json")), record) << "of the run that encoded";
}

TEST_F(SecondRun, ASecondRunOfACompleteOutputDoesNotRepeatTheWarnings) {
  dir_.write("in/texts.jsonl", "{\"text\":\"\"}\n{\"text\":\"a\"}\n");
  const ProgramEnd first = run({}, {{"FAKE_WORKER", "cut:0:1"}});
  ASSERT_EQ(first.exit_code, 0);
  EXPECT_THAT(first.err, HasSubstr("empty text"));
  EXPECT_THAT(first.err, HasSubstr("to lose less"));
  EXPECT_THAT(first.out, HasSubstr("written"));
  for (const char* const command : {"run", "retry-failed"}) {
    std::vector<std::string> words = flags(command);
    words.insert(words.end(), {"--chunk-size", "2"});
    const ProgramEnd again = encode(words);
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.err, Not(HasSubstr("empty text")));
    EXPECT_THAT(again.err, Not(HasSubstr("to lose less")));
    EXPECT_THAT(again.out, ::testing::StartsWith(output() + ": already complete"));
    EXPECT_EQ(std::count(again.out.begin(), again.out.end(), '\n'), 1) << again.out;
  }
  std::vector<std::string> as_json = flags("run");
  as_json.emplace_back("--json");
  EXPECT_THAT(encode(as_json).out, HasSubstr("\"already_complete\":true"));
}

// As on a file system whose locks are unknown to other machines.
TEST_F(SecondRun, ARunWhoseDirectoryAnotherMachineHasTakenEndsAndPublishesNothing) {
  std::vector<std::string> words = flags("run");
  words.insert(words.end(), {"--chunk-size", "2"});
  Program program(dir_.path(), words,
                  {{"FAKE_WORKER_RECORDS", dir_.file("records")}, {"FAKE_WORKER_SLOW_MS", "300"}});
  while (!fs::exists(cache("job.json"))) ::usleep(1000);
  dir_.write("out/.x.npy.cache/LOCK",
             R"({"pid":1,"token":"0123456789abcdef","host":"node7","started":"2026-11-27"})");
  const ProgramEnd end = program.wait();
  EXPECT_EQ(end.exit_code, 75) << end.err;
  EXPECT_THAT(end.err, HasSubstr("store.taken"));
  EXPECT_THAT(end.err, HasSubstr("node7"));
  EXPECT_FALSE(fs::exists(output()));
  EXPECT_EQ(run().exit_code, 0) << "the same command goes on";
}

TEST_F(SecondRun, ARunWithOtherOptionsIsToldToChooseAnotherOutput) {
  ASSERT_EQ(run().exit_code, 0);
  const ProgramEnd other = run({"--max-length", "16"});
  EXPECT_EQ(other.exit_code, 78);
  EXPECT_THAT(other.err, HasSubstr("another --output FILE; --fresh"));
  EXPECT_THAT(other.err, ::testing::ContainsRegex(
                             "error\\[run.foreign_final\\]: another max_length: [0-9]+ before, 16 "
                             "now; the existing result belongs"));
  EXPECT_EQ(left(), usual());
}

TEST_F(SecondRun, ARunWithAnotherModelOrInputIsToldWhichWasBefore) {
  ASSERT_EQ(run({}, {{"FAKE_WORKER", "69:2:1"}}).exit_code, 69);
  std::vector<std::string> words = flags("run");
  words[2] = test_data("models/distilbert");
  const std::string before = fs::canonical(test_data("models/bert")).string();
  EXPECT_THAT(encode(words).err,
              HasSubstr("error[store.foreign]: another model: " + before + " before, "));
  words = flags("run");
  words[4] = dir_.write("in/other.jsonl", "{\"text\":\"another\"}\n");
  EXPECT_THAT(encode(words).err,
              HasSubstr("error[store.foreign]: another input: " + dir_.file("in/texts.jsonl") +
                        " before, " + words[4] + " now; the chunks in the cache belong"));
}

TEST_F(SecondRun, ARunOfAnEarlierVersionGoesOnInItsDirectory) {
  EXPECT_EQ(run({}, {{"FAKE_WORKER", "69:2:1"}}).exit_code, 69);
  fs::rename(cache(), output() + ".cache");
  const int64_t before = encoded();
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(encoded(), 3);
  EXPECT_GT(before, 0);
  EXPECT_THAT(left(), Not(Contains(".x.npy.cache")));
  EXPECT_THAT(left(), Contains("x.npy.cache")) << "as the earlier version left it";
}

}  // namespace
}  // namespace encode::testing
