// Tests what `encode run` and `encode preflight` say and refuse about prompts.
#include <filesystem>
#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "real_run.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ProgramEnd preflight(const RealRun& runs, const std::string& semantic) {
  const TempDir& dir = runs.dir();
  dir.write("c.yaml", fmt::format("semantic:\n  model: {}\n  cache_dir: {}\n  {}\n"
                                  "hardware: {{device: cpu}}\n"
                                  "data:\n  streams:\n    tc: {{}}\n  splits:\n    train:\n"
                                  "      tc: {}\n",
                                  dir.file("model"), dir.file("cache"), semantic,
                                  dir.write("a.txt", "abc\nde\n")));
  return Program(dir.path(), {"preflight", "--verbose", "--config", dir.file("c.yaml")}).wait();
}

// All rows would be the prompt alone.
TEST(Prompt, OneThatFillsMaxLengthIsRefusedBeforeAnythingIsEncoded) {
  const RealRun runs("bert", 5);
  const std::vector<std::string> flags = {"--prompt", "a long prompt", "--max-length", "8"};
  const ProgramEnd end = runs.run("out", flags);
  EXPECT_EQ(end.exit_code, 78) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("model.max_length"), HasSubstr("no room for a text")));
  EXPECT_FALSE(fs::exists(runs.matrix("out")));
  EXPECT_EQ(runs.run("fits", {"--prompt", "a long prompt", "--max-length", "30"}).exit_code, 0);

  const ProgramEnd check = preflight(runs, "prompt: a long prompt\n  max_length: 8");
  EXPECT_EQ(check.exit_code, 78) << check.out;
  EXPECT_THAT(check.out, HasSubstr("no room for a text"));
}

TEST(Prompt, TheLogAndPreflightSayWhichPromptEveryRowGets) {
  const RealRun runs("bert", 5);
  EXPECT_THAT(runs.run("none", {}).err, HasSubstr("no row gets a prompt"));
  EXPECT_THAT(runs.run("one", {"--prompt", "q: "}).err,
              HasSubstr("every row gets the prompt 'q: ' (prompt of the options)"));
  EXPECT_THAT(preflight(runs, "prompt: 'q: '").out, HasSubstr("every row gets the prompt 'q: '"));
}

TEST(Prompt, AKnownModelWithoutOneIsNamedInOneLine) {
  const RealRun runs("bert", 5);
  fs::copy(runs.dir().file("model"), runs.dir().file("e5-base-v2"), fs::copy_options::recursive);
  const std::vector<std::string> model = {"--model", runs.dir().file("e5-base-v2")};
  const std::string log = runs.run("none", model).err;
  EXPECT_THAT(log, AllOf(HasSubstr("intfloat/e5-base-v2"), HasSubstr("'passage: '"),
                         HasSubstr("docs/howto/prompts.md")));
  EXPECT_EQ(log.find("intfloat/"), log.rfind("intfloat/")) << "one line";
  EXPECT_THAT(runs.run("empty", {"--model", model[1], "--prompt", ""}).err,
              Not(HasSubstr("intfloat/")));
}

}  // namespace
}  // namespace encode::testing
