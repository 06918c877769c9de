#include "base/shell_quote.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::TempDir;

TEST(ShellCommand, LeavesPlainWordsAsTheyAre) {
  EXPECT_EQ(
      shell_command({"encode", "run", "--input", "a/b-1.csv", "--set", "semantic.causal=true"}),
      "encode run --input a/b-1.csv --set semantic.causal=true");
  EXPECT_EQ(shell_command({"my texts.csv", ""}), "'my texts.csv' ''");
}

// A real shell must give back every byte, and run nothing.
TEST(ShellCommand, IsSplitByAShellIntoTheSameWords) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  const std::vector<std::string> words = {"plain",
                                          "two words",
                                          "",
                                          "it's",
                                          "$(touch ran)",
                                          "`touch ran`",
                                          "a;touch ran",
                                          "*",
                                          "~",
                                          "=ls",
                                          "#note",
                                          "-",
                                          "\\",
                                          "\"",
                                          "x\ny",
                                          "B\xc3\xbc"
                                          "cher",
                                          "!1",
                                          every_byte};
  const TempDir dir;
  const std::string command = shell_command(words);
  EXPECT_TRUE(
      std::all_of(command.begin(), command.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  dir.write("words.sh",
            "cd " + shell_command({dir.path()}) + "\nprintf '%s\\0' " + command + " > words\n");
  const std::string shell = "bash " + shell_command({dir.file("words.sh")});
  ASSERT_EQ(std::system(shell.c_str()), 0);
  std::string expected;
  for (const std::string& word : words) expected += word + '\0';
  EXPECT_EQ(testing::read_bytes(dir.file("words")), expected);
}

}  // namespace
}  // namespace encode
