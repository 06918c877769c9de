// Tests that an error of the file system is never taken for a file that does not exist: a run ends
// with an error that names the file, or with the vectors of a run without the fault.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "real_run.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kErrors[] = {EIO, ELOOP, EACCES, ESTALE};

// The exit codes that docs/errors.md has for a model that cannot be read.
constexpr int kNoInput = 66;
constexpr int kIoError = 74;
constexpr int kTempFail = 75;  // the server of a network file system may answer again
constexpr int kNoPermission = 77;

// The names that a run looks for in a model directory: those that exist, and those that do not.
const char* const kNames[] = {"modules.json",
                              "config.json",
                              "config_sentence_transformers.json",
                              "sentence_bert_config.json",
                              "tokenizer.json",
                              "tokenizer.model",
                              "sentencepiece.bpe.model",
                              "spm.model",
                              "tokenizer_config.json",
                              "special_tokens_map.json",
                              "adapter_config.json",
                              "vocab.txt",
                              "model.safetensors"};

class PathFault : public ::testing::Test {
 protected:
  // A whole sentence-transformers directory, in which every kind of file changes the vectors.
  PathFault() : runs_("bert", 3) {
    fs::remove_all(runs_.dir().file("model"));
    fs::copy(test_data("sentence_transformers/prompts"), runs_.dir().file("model"),
             fs::copy_options::recursive);
    EXPECT_EQ(runs_.run("reference", {}).exit_code, 0);
  }

  ProgramEnd run(const std::string& name, const char* call, int error, const char* program) {
    fs::remove(log());
    fs::remove(runs_.matrix("out"));
    fs::remove(runs_.matrix("out") + ".manifest.json");
    return Program(runs_.dir().path(), runs_.arguments("out", {}),
                   {{"LD_PRELOAD", built_file(PATH_FAULT_LIBRARY)},
                    {"PATH_FAULT_NAME", name},
                    {"PATH_FAULT_CALL", call},
                    {"PATH_FAULT_ERRNO", fmt::to_string(error)},
                    {"PATH_FAULT_PROGRAM", program},
                    {"PATH_FAULT_LOG", log()}})
        .wait();
  }
  std::string log() const { return runs_.dir().file("faults"); }

  // Runs with the fault. Returns true if the call was made.
  bool check(const std::string& name, const char* call, int error, const char* program = "") {
    SCOPED_TRACE(fmt::format("{} {} {} {}", name, call, std::strerror(error), program));
    const ProgramEnd end = run(name, call, error, program);
    if (end.exit_code == 0) {
      EXPECT_TRUE(read_bytes(runs_.matrix("out")) == read_bytes(runs_.matrix("reference")));
      EXPECT_FALSE(fs::exists(log())) << "the fault had no effect";
      return fs::exists(log());
    }
    if (error == ESTALE) {
      EXPECT_EQ(end.exit_code, kTempFail) << end.err;
    } else {
      EXPECT_THAT(end.exit_code, AnyOf(kNoInput, kIoError, kNoPermission)) << end.err;
    }
    EXPECT_THAT(end.err, HasSubstr("error["));
    EXPECT_THAT(end.err, HasSubstr(name));
    EXPECT_THAT(end.err, HasSubstr(std::strerror(error)));
    EXPECT_TRUE(fs::exists(log()));
    return true;
  }

  RealRun runs_;
};

TEST_F(PathFault, AnErrorOfALookIsNotAnAbsence) {
  int made = 0;
  for (const char* name : kNames) {
    for (const int error : kErrors) made += check(name, "stat", error) ? 1 : 0;
  }
  EXPECT_EQ(made, static_cast<int>(std::size(kNames) * std::size(kErrors)));
}

TEST_F(PathFault, AnErrorOfAnOpenNamesTheFile) {
  int made = 0;
  for (const char* name : kNames) {
    for (const int error : kErrors) made += check(name, "open", error) ? 1 : 0;
  }
  EXPECT_GE(made, 7 * static_cast<int>(std::size(kErrors)));  // the files that exist
}

TEST_F(PathFault, TheSameHoldsInTheWorker) {
  int made = 0;
  for (const char* name : kNames) {
    for (const char* call : {"open", "stat"})
      made += check(name, call, EIO, "encode-worker") ? 1 : 0;
  }
  EXPECT_GE(made, 7);
}

TEST_F(PathFault, AFolderThatCannotBeListedIsNoFolderWithoutWeights) {
  fs::remove(runs_.dir().file("model/model.safetensors"));
  const ProgramEnd end = run("model", "readdir", EIO, "");
  EXPECT_EQ(end.exit_code, kIoError) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("/model"), HasSubstr(std::strerror(EIO))));
}

TEST_F(PathFault, ControlWithoutAFaultTheLibraryChangesNothing) {
  EXPECT_FALSE(check("no such name", "stat", EIO));
}

}  // namespace
}  // namespace encode::testing
