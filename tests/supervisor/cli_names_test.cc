// Tests where `encode run` puts its results if the user names no output, and what it says then.
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Runs in a directory of its own, because cache/embeddings is relative.
class NamedResults : public ::testing::Test {
 protected:
  NamedResults() {
    dir_.write("a.csv", "title,body\nt,x\nu,y\n");
    dir_.write("b.csv", "title,body\nv,z\n");
    dir_.write("records/.keep", "");
  }
  ProgramEnd run(std::vector<std::string> more, const std::string& misdeed = "") const {
    std::vector<std::string> words = {"run", "--model", model_};
    words.insert(words.end(), more.begin(), more.end());
    Program::Environment environment = {{"FAKE_WORKER_RECORDS", dir_.file("records")}};
    if (!misdeed.empty()) environment["FAKE_WORKER"] = misdeed;
    const auto enter = [this] {
      if (::chdir(dir_.path().c_str()) != 0) ::_exit(126);
    };
    return Program(dir_.path(), words, environment, enter).wait();
  }
  std::vector<std::string> matrices() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_.file("cache/embeddings"))) {
      if (entry.path().extension() == ".npy") names.push_back(entry.path().filename().string());
    }
    return names;
  }
  std::string encoded() const {
    const std::string path = dir_.file("records/encoded_chunks");
    return fs::exists(path) ? read_bytes(path) : "";
  }

  TempDir dir_;
  std::string model_ = test_data("models/bert");
};

TEST_F(NamedResults, OfDifferentInputsFieldsAndModelsDoNotMeet) {
  for (const char* model : {"models/bert", "models/distilbert"}) {
    model_ = test_data(model);
    for (const char* input : {"a.csv", "b.csv"}) {
      for (const char* field : {"title", "body"}) {
        const ProgramEnd end = run({"--input", input, "--field", field});
        EXPECT_EQ(end.exit_code, 0) << end.err;
      }
    }
  }
  EXPECT_EQ(matrices().size(), 8U) << "two models, two inputs and two fields";
  EXPECT_THAT(matrices(), ::testing::Each(HasSubstr("csv_")));
}

TEST_F(NamedResults, OfOtherOptionsAreKeptAndDeletionIsNotOfferedFirst) {
  ASSERT_EQ(run({"--input", "a.csv", "--field", "body"}).exit_code, 0);
  const std::string before = read_bytes(dir_.file("cache/embeddings/" + matrices().front()));
  const ProgramEnd end = run({"--input", "a.csv", "--field", "body", "--normalize"});
  EXPECT_EQ(end.exit_code, 78);
  const size_t keep = end.err.find("to keep the old result, give this run another --output");
  ASSERT_NE(keep, std::string::npos) << end.err;
  EXPECT_GT(end.err.find("--fresh"), keep);
  EXPECT_EQ(read_bytes(dir_.file("cache/embeddings/" + matrices().front())), before);
  EXPECT_EQ(
      run({"--input", "a.csv", "--field", "body", "--normalize", "--output", "n.npy"}).exit_code,
      0);
}

// A run of a config without an output still has the name that every such run had.
TEST_F(NamedResults, AnInterruptedRunOfAnEarlierVersionGoesOn) {
  const std::string config =
      dir_.write("c.yaml", "semantic: {chunk_size: 1}\ninput: {file: a.csv, field: body}\n");
  const std::vector<std::string> flags = {"--input", "a.csv", "--field", "body"};
  EXPECT_EQ(run({"--config", config}, "69:1:1").exit_code, 69);
  ASSERT_EQ(encoded(), "0\n");
  ASSERT_TRUE(fs::exists(dir_.file("cache/embeddings/embeddings_chunks/chunks.log")));
  const ProgramEnd end = run(flags);
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(encoded(), "0\n1\n") << "chunk 0 was there";
  EXPECT_EQ(matrices(), std::vector<std::string>{"embeddings_embeddings.npy"});
  const ProgramEnd again = run(flags);
  EXPECT_THAT(again.err, HasSubstr("already done"));
  EXPECT_EQ(encoded(), "0\n1\n");
  // Runs with another input or other options do not take the earlier name.
  EXPECT_EQ(run({"--input", "b.csv", "--field", "body"}).exit_code, 0);
  EXPECT_EQ(run({"--input", "a.csv", "--field", "body", "--normalize"}).exit_code, 0);
  EXPECT_EQ(matrices().size(), 3U);
}

TEST_F(NamedResults, AForeignFileOfTheEarlierNameIsLeftAlone) {
  const std::string config =
      dir_.write("c.yaml", "semantic: {chunk_size: 1}\ninput: {file: a.csv, field: body}\n");
  EXPECT_EQ(run({"--config", config}, "69:1:1").exit_code, 69);
  const std::string path = dir_.write("cache/embeddings/embeddings_embeddings.npy", "mine");
  EXPECT_EQ(run({"--input", "a.csv", "--field", "body"}).exit_code, 0);
  EXPECT_EQ(read_bytes(path), "mine");
}

TEST_F(NamedResults, FlagsSetTheKeysThatHintsName) {
  dir_.write("bad.jsonl", "{\"text\":\"a\"}\n{\"txt\":1}\n{\"text\":\"\"}\n{\"text\":\"b\"}\n");
  const std::vector<std::string> flags = {"--input", "bad.jsonl", "--field",
                                          "text",    "--output",  "o.npy"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), flags.begin(), flags.end());
    return run(more);
  };
  EXPECT_THAT(with({}).err, HasSubstr("did you mean 'txt'? Or to leave the field empty, give "
                                      "--missing-field empty, "));
  EXPECT_THAT(with({}).err, HasSubstr("; to leave such rows out, give --bad-row reject"));
  EXPECT_EQ(with({"--bad-row", "reject"}).exit_code, 0);
  EXPECT_EQ(with({"--bad-row", "reject", "--empty-row", "error", "--fresh"}).exit_code, 65);
  const ProgramEnd few = with({"--bad-row", "reject", "--limit-rows", "1", "--fresh"});
  EXPECT_EQ(few.exit_code, 0) << few.err;
  EXPECT_EQ(
      with({"--set", "input.bad_row=reject", "--set", "input.limit_rows=2", "--fresh"}).exit_code,
      0);
  for (const char* bad : {"input.bad_row", "=x", "nonsense=1", "input.bad_row=maybe"}) {
    const ProgramEnd end = with({"--set", bad});
    EXPECT_EQ(end.exit_code, 64) << bad;
    EXPECT_THAT(end.err, HasSubstr("--set"));
  }
  const ProgramEnd missing = run({"--input", "a.csv", "--output", "o.npy"});
  EXPECT_EQ(missing.exit_code, 64);
  EXPECT_THAT(missing.err, HasSubstr("which has: title, body"));
  EXPECT_EQ(with({"--missing-field", "empty", "--fresh"}).exit_code, 0);
}

TEST_F(NamedResults, TheSuffixOfTheOutputStatesTheFormat) {
  const std::vector<std::string> flags = {"--input", "a.csv", "--field", "body", "--output"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), flags.begin(), flags.end());
    return run(more);
  };
  const ProgramEnd end = with({"o.parquet", "--columns", "row,text,title"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(read_bytes(dir_.file("o.parquet")).substr(0, 4), "PAR1");
  for (const char* name : {"e.csv", "x.lance", "vectors"}) {
    const ProgramEnd refused = with({name});
    EXPECT_EQ(refused.exit_code, 64) << name;
    EXPECT_THAT(refused.err, HasSubstr(".npy, .parquet, .arrow, .feather or .ipc"));
    EXPECT_FALSE(fs::exists(dir_.file(name)));
  }
  EXPECT_EQ(with({"o.npy", "--output-format", "parquet"}).exit_code, 64);
  EXPECT_FALSE(fs::exists(dir_.file("o.npy")));
}

}  // namespace
}  // namespace encode::testing
