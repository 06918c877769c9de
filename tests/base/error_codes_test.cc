// Compares the table of error codes with the sources and the tests.
#include "base/error_codes.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;

std::set<std::string> table_codes() {
  std::set<std::string> codes;
  for (const ErrorCodes& row : error_code_table()) {
    for (const std::string_view code : row.codes)
      EXPECT_TRUE(codes.emplace(code).second) << code << " is in the table twice";
  }
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
      if (source && !stem.ends_with("error_codes") && stem != "error_codes_test")
        text += read_bytes(path.string());
    }
  }
  return text;
}

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

// Texts of the sources that look like a code and are none: names of files, keys of the config, of a
// tokenizer.json and of a fingerprint.
bool is_other_name(const std::string& text) {
  static const std::set<std::string> kKeys = {
      "input.file",   "input.field", "input.format",   "log.json",       "log.level",
      "log.progress", "output.file", "output.combine", "output.columns", "output.format",
      "output.dense", "model.files", "model.merges",   "model.vocab",    "report.html"};
  return text.ends_with(".json") || text == "tokenizer.model" || kKeys.contains(text);
}

TEST(ErrorCodes, EveryCodeOfTheSourcesIsInTheTable) {
  const std::set<std::string> table = table_codes();
  const std::string text = sources({"src", "apps", "include"});
  std::set<std::string> groups;  // the part before the dot: "csv"
  for (const std::string& code : table) groups.insert(code.substr(0, code.find('.')));
  for (const std::string& name : matches(text, R"re("([a-z][a-z0-9_]*\.[a-z0-9_]+)")re")) {
    if (!groups.contains(name.substr(0, name.find('.'))) || is_other_name(name)) continue;
    EXPECT_TRUE(table.contains(name)) << name << " is not in src/base/error_codes.cc";
  }
  for (const std::string& code : matches(text, R"re(code = "([^"]+)")re"))
    EXPECT_TRUE(table.contains(code)) << code << " is not in src/base/error_codes.cc";
  for (const std::string& code : table) {
    // The sources make the codes of parity from the name of a type.
    const std::string literal = code.ends_with(".parity") ? ".parity\"" : '"' + code + '"';
    EXPECT_NE(text.find(literal), std::string::npos) << code << " is no longer used";
  }
}

// Shows that the test above can fail: the pattern finds the codes in the usual forms.
TEST(ErrorCodes, ControlThePatternsFindACode) {
  EXPECT_EQ(matches(R"re(throw Error({.code = "a.b", )re", R"re(code = "([^"]+)")re").size(), 1U);
  EXPECT_EQ(matches(R"re(throw system_error("io.new_code", "x", path, errno))re",
                    R"re("([a-z][a-z0-9_]*\.[a-z0-9_]+)")re")
                .count("io.new_code"),
            1U);
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
      {"batch.length", "rows are cut to the limit before; CpuEncoder checks again"},
      {"cache.network", "needs a network file system"},
      {"device.query", kDevice},
      {"fp8.parity", kDevice},
      {"internal", kDefect},
      {"internal.exception", kDefect},
      {"internal.sha256", kDefect},
      {"io.commit", kCall},
      {"io.list", kCall},
      {"io.remove", kCall},
      {"io.stat", kCall},
      {"io.statvfs", kCall},
      {"job.read", kDefect},
      {"model.hash_cache", kIgnored},
      {"model.sentence_bert_config", "tests/model_dir checks the message"},
      {"os.memory",
       "SystemLimits.AddressSpace checks the exit code; which allocation fails is not fixed"},
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
