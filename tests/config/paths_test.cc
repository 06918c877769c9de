// Tests of the paths of an input in a config.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "config/load.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

TEST(Paths, AnInputIsOnePathOrAListOfPaths) {
  TempDir dir;
  const std::string path = dir.write("c.yaml", R"(
semantic: {model: m}
data:
  splits:
    train:
      a: [x.jsonl, "y-*.jsonl.zst"]
      b: {file: [z.jsonl]}
      c: {file: w.jsonl}
  streams: {a: {field: t}, b: {field: t}, c: {field: t}}
)");
  const LoadedConfig loaded = load_config(path, {});
  const auto& streams = loaded.run.streams;
  EXPECT_EQ(streams[0].input.path, "x.jsonl");
  EXPECT_EQ(streams[0].input.more_paths, std::vector<std::string>{"y-*.jsonl.zst"});
  EXPECT_TRUE(streams[1].input.path == "z.jsonl" && streams[1].input.more_paths.empty());
  EXPECT_TRUE(streams[2].input.path == "w.jsonl" && streams[2].input.more_paths.empty());
  const std::string printed = print_config(loaded);
  EXPECT_NE(printed.find("[x.jsonl, \"y-*.jsonl.zst\"]"), std::string::npos) << printed;
}

TEST(Paths, RefusesPathsThatDoNotMakeOneInput) {
  const auto code_of = [](const std::string& paths) {
    TempDir dir;
    const std::string path =
        dir.write("c.yaml", "semantic: {model: m}\ninput: {field: t, file: " + paths + "}\n");
    try {
      load_config(path, {});
    } catch (const Error& error) {
      return std::string(error.detail().code.name());
    }
    return std::string();
  };
  EXPECT_EQ(code_of("[a.jsonl, b.jsonl.gz]"), "");
  EXPECT_EQ(code_of("[]"), "config.value");
  EXPECT_EQ(code_of("[[a.jsonl]]"), "config.type");
  EXPECT_EQ(code_of("[a.jsonl, 7]"), "config.type");
  EXPECT_EQ(code_of("[a.jsonl, b.csv]"), "config.conflict");
  EXPECT_EQ(code_of("[a.jsonl, b]"), "config.required");
  EXPECT_EQ(code_of("[\"-\", a.jsonl], format: jsonl"), "config.conflict");
}

}  // namespace
}  // namespace encode::testing
