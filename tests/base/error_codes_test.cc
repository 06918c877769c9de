// Tests ErrorCode, and compares the table of error codes with the sources and the tests.
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/error_code.h"

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;

std::set<std::string> table_codes() {
  std::set<std::string> codes;
  for (const std::string_view code : kErrorCodes)
    EXPECT_TRUE(codes.emplace(code).second) << code << " is in the table twice";
  return codes;
}

// Returns the text of all sources below some folders, without the files of the table itself.
std::string sources(const std::vector<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(testing::source_file(folder))) {
      const fs::path& path = entry.path();
      const bool source =
          path.extension() == ".cc" || path.extension() == ".h" || path.extension() == ".py";
      const std::string stem = path.stem().string();
      if (source && stem != "error_table" && stem != "error_codes" && stem != "error_codes_test")
        text += read_bytes(path.string());
    }
  }
  return text;
}

TEST(ErrorCodes, AreFoundByTheirNames) {
  for (const std::string& name : table_codes()) {
    const std::optional<ErrorCode> code = ErrorCode::find(name);
    ASSERT_TRUE(code) << name;
    EXPECT_EQ(code->name(), name);
  }
  EXPECT_EQ(ErrorCode::find("gzip.corrupt"), ErrorCode("gzip.corrupt"));
  EXPECT_FALSE(ErrorCode::find("gzip.corrup"));
  EXPECT_FALSE(ErrorCode::find(""));
}

TEST(ErrorCodes, KnowTheirExitCodeAndTheirGroup) {
  EXPECT_EQ(ErrorCode("model.shape").exit_code(), ExitCode::kConfig);
  EXPECT_EQ(ErrorCode("records.open").exit_code(), ExitCode::kInternal) << "it ends no command";
  ErrorDetail detail;
  EXPECT_EQ(detail.exit_code, ExitCode::kInternal);
  detail = {
      .code = "cache.in_use", .what = "", .where = "", .expected = "", .found = "", .hint = ""};
  EXPECT_EQ(detail.exit_code, ExitCode::kTempFail);
  EXPECT_TRUE(ErrorCode("cache.in_use").in_group("cache"));
  EXPECT_FALSE(ErrorCode("cache.in_use").in_group("cach"));
  EXPECT_EQ(ErrorCode().name(), "");
}

TEST(ErrorCodes, EachIsUsed) {
  const std::string text = sources({"src", "apps", "include"});
  for (const std::string& code : table_codes())
    EXPECT_NE(text.find('"' + code + '"'), std::string::npos) << code << " is no longer used";
}

constexpr const char* kCall =
    "a failed system call: Failure.* in tests/store/crash_test.cc fails every one and checks the "
    "exit code";
constexpr const char* kDefect = "a defect of encode, which no input can provoke";
constexpr const char* kDevice = "needs a device that fails";
constexpr const char* kIgnored = "ends no command: tests check what is shown or done instead";

// The codes that no test names, and why.
std::map<std::string, std::string> not_named() {
  return {
      {"cache.network", "needs a network file system"},
      {"device.query", kDevice},
      {"fp8.parity", kDevice},
      {"internal.exception", kDefect},
      {"internal.sha256", kDefect},
      {"io.commit", kCall},
      {"io.list", kCall},
      {"io.remove", kCall},
      {"io.statvfs", kCall},
      {"job.read", kDefect},
      {"model.hash_cache", kIgnored},
      {"model.sentence_bert_config", "tests/model_dir checks the message"},
      {"os.pipe", kCall},
      {"os.self", kCall},
      {"preflight.defence", kDefect},
      {"plan.profiles", kIgnored},
      {"records.damaged", kIgnored},
      {"records.foreign", kIgnored},
      {"records.open", kIgnored},
      {"records.read", kIgnored},
      {"records.rename", kIgnored},
      {"records.stat", kIgnored},
      {"records.write", kIgnored},
      {"run.fresh", kCall},
      {"run.retry", kCall},
      {"run.row_count", kDefect},
      {"run.self_check",
       "another program would have to remove the final within the last second of a run"},
      {"self_test.file", kIgnored},
      {"status.damaged", kIgnored},
      {"status.matrix", kIgnored},
      {"store.beside", kCall},
      {"store.chunk", kCall},
      {"store.final", kCall},
      {"store.float16",
       "needs a vector beyond float16; quantize_test.cc has the values at the limit"},
      {"store.log", kCall},
      {"store.manifest", kCall},
      {"store.stream", kCall},
      {"tokenizer.sentencepiece", "needs an error of the sentencepiece library"},
      {"worker.stuck", kDevice},
  };
}

TEST(ErrorCodes, EachIsNamedByATestOrHasAReason) {
  const std::string tests = sources({"tests"});
  const std::map<std::string, std::string> reasons = not_named();
  for (const std::string& code : table_codes()) {
    const bool named = tests.find('"' + code + '"') != std::string::npos ||
                       tests.find("error[" + code + "]") != std::string::npos;
    EXPECT_NE(named, reasons.contains(code))
        << code
        << (named ? " is named by a test now: delete its reason"
                  : " is not provoked: write a test that names it");
  }
  for (const auto& [code, reason] : reasons)
    EXPECT_TRUE(table_codes().contains(code)) << code << " is not a code: delete its reason";
}

}  // namespace
}  // namespace encode::testing
