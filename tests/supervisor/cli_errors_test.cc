// Tests that a broken config, input, model or command line gives the documented exit code, and a
// message that says what is wrong and where, what was expected and found, and what to do next.
#include <fmt/format.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

// A command that must fail. In `arguments` and `config`, @ stands for the directory of the test,
// which has the files that BrokenThings() writes.
struct Broken {
  const char* name;
  int exit_code;
  std::string says;  // a part of the message
  std::vector<std::string> arguments;
  std::string
      config;  // the text of c.yaml; "": kGoodConfig; "worker": kGoodConfig, no worker program
};

std::ostream& operator<<(std::ostream& out, const Broken& broken) { return out << broken.name; }

const char* const kGoodConfig =
    "semantic:\n  model: @/model\n  cache_dir: @/cache\n"
    "data:\n  splits:\n    train:\n      tc: {file: @/good.jsonl, field: text}\n";

std::string config_with(const std::string& from, const std::string& to) {
  std::string config = kGoodConfig;
  return config.replace(config.find(from), from.size(), to);
}

std::vector<std::string> input(const std::string& file, const std::string& field = "text") {
  return {"run", "--model", "@/model", "--output", "@/out.npy", "--input", file, "--field", field};
}
std::vector<std::string> model(const std::string& directory) {
  return {"run",     "--model",      directory, "--output", "@/out.npy",
          "--input", "@/good.jsonl", "--field", "text"};
}
const std::vector<std::string> kByConfig = {"--config", "@/c.yaml"};

std::vector<Broken> broken_things() {
  return {
      // Broken command lines.
      {"UnknownFlag", 64, "did you mean --chunk-size?", {"run", "--chunksize", "5"}, ""},
      {"UnknownVerb", 64, "did you mean verify?", {"verfy"}, ""},
      {"FlagWithoutValue", 64, "--model", {"run", "--model"}, ""},
      {"FlagsThatExclude", 64, "normalize", {"run", "--normalize", "--no-normalize"}, ""},
      {"BadFlagValue",
       64,
       "--chunk-size",
       {"run", "--config", "@/c.yaml", "--chunk-size", "many"},
       ""},
      {"NothingToRun", 64, "--input - reads standard input", {"run"}, ""},
      // Broken configs.
      {"ConfigMissing", 66, "nowhere.yaml", {"--config", "@/nowhere.yaml"}, ""},
      {"ConfigNotYaml", 78, "c.yaml:", kByConfig, "semantic: [1, 2\n"},
      {"ConfigUnknownKey", 78, "chunk_size", kByConfig,
       config_with("  cache_dir", "  chunk_sise: 5\n  cache_dir")},
      {"ConfigWrongType", 78, "c.yaml:3", kByConfig,
       config_with("  cache_dir", "  chunk_size: lots\n  cache_dir")},
      {"ConfigBadDtype", 78, "bfloat16", kByConfig,
       config_with("  cache_dir", "  dtype: float8\n  cache_dir")},
      {"ConfigBadDevice", 78, "cuda", kByConfig,
       kGoodConfig + std::string("hardware:\n  device: gpu\n")},
      {"ConfigAlias", 78, "c.yaml:", kByConfig, config_with("@/model", "&a @/model")},
      {"ConfigWithoutModel", 78, "semantic.model", kByConfig,
       config_with("model: @/model", "dtype: float32")},
      // Broken inputs.
      {"InputMissing", 66, "nowhere.jsonl", input("@/nowhere.jsonl"), ""},
      {"InputIsAFolder", 66, "folder", input("@/folder.jsonl"), ""},
      {"FieldMissing", 65, "missing_field.jsonl:2", input("@/missing_field.jsonl"), ""},
      {"BadJson", 65, "bad.jsonl:2", input("@/bad.jsonl"), ""},
      {"FieldIsANumber", 65, "number.jsonl:1", input("@/number.jsonl"), ""},
      {"CsvUnbalancedQuote", 65, "quote.csv:", input("@/quote.csv"), ""},
      {"CsvNoSuchColumn", 78, "column", input("@/good.csv", "txet"), ""},
      {"TruncatedGzip", 65, "cut.jsonl.gz", input("@/cut.jsonl.gz"), ""},
      // Broken models.
      {"ModelMissing", 66, "nowhere", model("@/nowhere"), ""},
      {"ModelWithoutWeights", 66, "safetensors", model("@/no_weights"), ""},
      {"ModelConfigNotJson", 78, "config.json", model("@/bad_config"), ""},
      {"ModelWeightsCut", 78, "model.safetensors", model("@/cut_weights"), ""},
      {"ModelWithUnknownCode", 78, "modeling_own.OwnModel", model("@/own_code"), ""},
      {"PlanWithUnknownCode",
       78,
       "modeling_own.OwnModel",
       {"plan", "--config", "@/c.yaml"},
       config_with("@/model", "@/own_code")},
      {"PreflightWithUnknownCode",
       78,
       "modeling_own.OwnModel",
       {"preflight", "--config", "@/c.yaml"},
       config_with("@/model", "@/own_code")},
      {"TokenizeWithUnknownCode",
       78,
       "modeling_own.OwnModel",
       {"tokenize", "--model", "@/own_code", "--input", "@/good.jsonl", "--field", "text",
        "--output", "@/ids"},
       ""},
      {"ModelOnlyPickle", 78, "safetensors", model("@/pickle"), ""},
      // A broken cache directory and a missing worker.
      {"CacheIsAFile",
       73,
       "good.jsonl",
       {"--config", "@/c.yaml", "--cache-dir", "@/good.jsonl"},
       ""},
      {"WorkerMissing", 71, "ENCODE_WORKER", {"--config", "@/c.yaml"}, "worker"},
      // Other commands.
      {"VerifyMissing", 66, "nowhere.npy", {"verify", "@/nowhere.npy"}, ""},
      {"CompareNotNpy", 65, "good.jsonl", {"compare", "@/good.jsonl", "@/good.jsonl"}, ""},
  };
}

class BrokenThings : public ::testing::TestWithParam<Broken> {
 protected:
  BrokenThings() {
    dir_.write("good.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n");
    dir_.write("folder.jsonl/file", "");
    dir_.write("missing_field.jsonl", "{\"text\":\"a\"}\n{\"txet\":\"b\"}\n");
    dir_.write("bad.jsonl", "{\"text\":\"a\"}\n{\"text\":\n");
    dir_.write("number.jsonl", "{\"text\":1}\n");
    dir_.write("quote.csv", "text\na\n\"b\n");
    dir_.write("good.csv", "text\na\n");
    dir_.write("cut.jsonl.gz", std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab", 11));
    const std::string config = read_bytes(test_data("models/bert/config.json"));
    const std::string weights = read_bytes(test_data("models/bert/model.safetensors"));
    dir_.write("model/config.json", config);
    dir_.write("model/model.safetensors", weights);
    dir_.write("own_code/config.json", R"({"auto_map":{"AutoModel":"modeling_own.OwnModel"},)" +
                                           config.substr(config.find('{') + 1));
    dir_.write("own_code/model.safetensors", weights);
    dir_.write("no_weights/config.json", config);
    dir_.write("bad_config/config.json", config.substr(0, config.size() / 2));
    dir_.write("bad_config/model.safetensors", weights);
    dir_.write("cut_weights/config.json", config);
    dir_.write("cut_weights/model.safetensors", weights.substr(0, weights.size() - 100));
    dir_.write("pickle/config.json", config);
    dir_.write("pickle/pytorch_model.bin", "PK");
  }

  std::string in_dir(const std::string& text) const { return with_folder(text, dir_.path()); }

  TempDir dir_;
};

TEST_P(BrokenThings, EndsAsDocumented) {
  const Broken& broken = GetParam();
  const bool no_worker = broken.config == "worker";
  dir_.write("c.yaml", in_dir(broken.config.empty() || no_worker ? kGoodConfig : broken.config));
  std::vector<std::string> arguments;
  for (const std::string& argument : broken.arguments) arguments.push_back(in_dir(argument));
  Program::Environment environment;
  if (no_worker) environment["ENCODE_WORKER"] = "/nonexistent/encode-worker";
  const ProgramEnd end = Program(dir_.path(), arguments, environment).wait();

  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.exit_code, broken.exit_code) << end.err;
  const std::string message = end.err + end.out;  // verify prints a table to standard output
  EXPECT_THAT(message, HasSubstr(broken.says));
  // These two show a table and not an error.
  const std::string name = broken.name;
  if (name == "VerifyMissing" || name == "PreflightWithUnknownCode") return;
  const size_t error = end.err.find("error[");
  ASSERT_NE(error, std::string::npos) << end.err;
  for (const char* field : {"where", "expected", "found", "hint"}) {
    EXPECT_THAT(end.err.substr(error), HasSubstr(fmt::format("\n  {} ", field)));
  }
  // docs/errors.md must have a row with the code and the exit code.
  const std::string code = end.err.substr(error + 6, end.err.find(']', error) - error - 6);
  const std::string docs = read_bytes(source_file("docs/errors.md"));
  const size_t row = docs.find("`" + code + "`", docs.find("## Error codes"));
  ASSERT_NE(row, std::string::npos) << code << " is not in docs/errors.md";
  EXPECT_THAT(docs.substr(row, docs.find('\n', row) - row),
              HasSubstr(fmt::to_string(end.exit_code)))
      << code;
}

INSTANTIATE_TEST_SUITE_P(All, BrokenThings, ::testing::ValuesIn(broken_things()),
                         [](const auto& test) { return std::string(test.param.name); });

// Shows that the tests above can fail: the same command succeeds if nothing is broken.
// The log says what was ignored.
TEST_F(BrokenThings, UnknownCodeIsIgnoredIfTheConfigSaysSo) {
  dir_.write("c.yaml", in_dir(config_with("model: @/model",
                                          "model: @/own_code\n  ignore_custom_code: true")));
  const ProgramEnd end = Program(dir_.path(), {"--config", dir_.file("c.yaml")}).wait();
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(read_bytes(dir_.file("cache/encode.log")),
              HasSubstr("ignore_custom_code: config.json: auto_map.AutoModel: "
                        "'modeling_own.OwnModel' is ignored"));
  const std::string manifest = read_bytes(dir_.file("cache/train_tc_embeddings.npy.manifest.json"));
  EXPECT_THAT(manifest, HasSubstr("ignore_custom_code"));
}

TEST_F(BrokenThings, GoodOnesPass) {
  dir_.write("c.yaml", in_dir(kGoodConfig));
  const ProgramEnd end = Program(dir_.path(), {"--config", dir_.file("c.yaml")}).wait();
  EXPECT_EQ(end.exit_code, 0) << end.err;
}

}  // namespace
}  // namespace encode::testing
