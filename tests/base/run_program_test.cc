#include "base/run_program.h"

#include <string>

#include <gtest/gtest.h>

namespace encode {
namespace {

TEST(RunProgram, GivesTheInputAndTakesBothOutputs) {
  // More than a pipe holds, in both directions at once.
  const std::string input(300'000, 'x');
  const auto end = run_program({"sh", "-c", "tee /dev/stderr; exit 3"}, input, "slurm.failed");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_EQ(end->out, input);
  EXPECT_EQ(end->err, input);
}

TEST(RunProgram, AWordReachesTheProgramAsItIs) {
  const std::string word = "it's a \"$HOME\"\n`x` %\\";
  EXPECT_EQ(run_program({"printf", "%s", word}, "", "slurm.failed")->out, word);
}

TEST(RunProgram, SaysWhichSignalHasEndedTheProgram) {
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}, "", "slurm.failed")->exit_code, 137);
}

TEST(RunProgram, KeepsOnlyTheFirstMiB) {
  const auto end = run_program({"head", "-c", "3000000", "/dev/zero"}, "", "slurm.failed");
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_EQ(end->out.size(), size_t{1} << 20);
}

TEST(RunProgram, AProgramThatIsNotThereIsNoError) {
  EXPECT_FALSE(run_program({"encode-no-such-program"}, "", "slurm.failed"));
  EXPECT_FALSE(run_program({"/no/such/program"}, "", "slurm.failed"));
}

}  // namespace
}  // namespace encode
