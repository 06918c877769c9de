// Tests that text out of a file cannot harm a terminal or a log: every loader gets text that moves
// the cursor, rings, turns the direction of text around, or is not UTF-8, and none of it reaches
// standard error, standard output, the log, status.json or another file of the cache for people.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/utf8.h"
#include "real_run.h"

namespace encode::testing {
namespace {

// The harmful text with the escapes of JSON, and as raw bytes. Only the raw bytes have an invalid
// byte, because JSON must be UTF-8.
const std::string kEscaped = R"(\u001b[31m\u0007\r\u202e\u009b\u007f)";
const std::string kRaw = "\x1b[31m\a\r\u202e\u009b\x7f\xff";

// A file of the run with the harmful text in it.
struct Harmful {
  const char* name;
  std::string file;
  std::string content;
  std::vector<std::string> arguments = {};  // added to the arguments of the run
};

std::ostream& operator<<(std::ostream& out, const Harmful& harmful) { return out << harmful.name; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string config(const std::string& key, const std::string& value) {
  Json json = Json::parse(read_bytes(test_data("models/bert/config.json")));
  json[key] = "@";
  return replaced(json.dump(), "\"@\"", value);
}

std::string tokenizer(const std::string& part) {
  return R"({"model":{"type":"WordLevel","vocab":{"a":0,"?":1},"unk_token":"?"},)" + part + "}";
}

std::string npy(const std::string& header) {
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
}

std::string safetensors(const std::string& header) {
  std::string size(8, '\0');
  size[0] = static_cast<char>(header.size());
  size[1] = static_cast<char>(header.size() >> 8);
  return size + header;
}

std::vector<Harmful> harmful_config() {
  const std::string text = "\"" + kEscaped + "\"";
  const std::string raw = "\"" + kRaw + "\"";
  return {
      {"ConfigHiddenAct", "model/config.json", config("hidden_act", text)},
      {"ConfigModelType", "model/config.json", config("model_type", text)},
      {"ConfigNumber", "model/config.json", config("num_attention_heads", text)},
      {"ConfigKeyTwice", "model/config.json", "{" + text + ":1," + text + ":2}"},
      {"ConfigRawBytes", "model/config.json", config("hidden_act", raw)},
      {"ConfigNoJson", "model/config.json", kRaw},
      {"Modules", "model/modules.json", R"([{"type":)" + text + R"(,"path":""}])"},
      {"ModulesRawBytes", "model/modules.json", kRaw},
      {"PoolingMode", "model/1_Pooling/config.json",
       R"({"embedding_dimension":64,"pooling_mode":)" + text + "}"},
      {"PoolingKey", "model/1_Pooling/config.json",
       R"({"embedding_dimension":64,)" + text + ":true}"},
      {"SentenceBert", "model/sentence_bert_config.json", "{" + text + ":1}"},
      {"Settings", "model/config_sentence_transformers.json",
       R"({"similarity_fn_name":)" + text + R"(,"prompts":{)" + text + R"(:1}})"},
      {"TokenizerConfig", "model/tokenizer_config.json", R"({"truncation_side":)" + text + "}"},
      {"Yaml", "c.yaml", "semantic: {" + text + ": 1}\n", {"--config", "@/c.yaml"}},
      {"YamlRawBytes", "c.yaml", "semantic: {" + kRaw + ": 1}\n", {"--config", "@/c.yaml"}},
      {"Weights", "model/model.safetensors",
       safetensors("{" + text + R"(:{"dtype":)" + text + R"(,"shape":[1],"data_offsets":[0,4]}})")},
      {"WeightsRawBytes", "model/model.safetensors", safetensors(kRaw)},
  };
}

std::vector<Harmful> harmful_tokenizer() {
  const std::string text = "\"" + kEscaped + "\"";
  const std::string path = "model/tokenizer.json";
  return {
      {"TokenizerKey", path, tokenizer(text + ":1")},
      {"TokenizerVersion", path, tokenizer("\"version\":" + text)},
      {"TokenizerType", path, tokenizer(R"("normalizer":{"type":)" + text + "}")},
      {"TokenizerTypeKey", path, tokenizer(R"("normalizer":{"type":"NFC",)" + text + ":1}")},
      {"TokenizerRegex", path,
       tokenizer(R"("pre_tokenizer":{"type":"Split","behavior":"Isolated","invert":false,)"
                 R"("pattern":{"Regex":"[[)" +
                 kEscaped + R"("}})")},
      {"TokenizerRegexAtRunTime", path,
       tokenizer(R"("pre_tokenizer":{"type":"Split","behavior":"Isolated","invert":false,)"
                 R"("pattern":{"Regex":"(?:[a-z]+ ?)+)" +
                 kEscaped + R"("}})")},
      {"TokenizerAdded", path,
       tokenizer(R"("added_tokens":[{"id":9,"content":)" + text +
                 R"(,"special":true,"normalized":false,"single_word":false,)"
                 R"("lstrip":false,"rstrip":false}])")},
      {"TokenizerPost", path,
       tokenizer(
           R"("post_processor":{"type":"TemplateProcessing","pair":[],"special_tokens":{},"single":[{"SpecialToken":{"id":)" +
           text + "}}]}")},
      {"TokenizerModel", path, R"({"model":{"type":)" + text + R"(,"vocab":{}}})"},
      {"TokenizerTwice", path,
       R"({"model":{"type":"WordLevel","vocab":{)" + text + ":0," + text + ":1}}}"},
      {"TokenizerRawBytes", path, kRaw},
  };
}

std::vector<Harmful> harmful_input() {
  const auto with = [](const std::string& file, const std::string& field) {
    return std::vector<std::string>{"--input", "@/" + file, "--field", field};
  };
  return {
      {"CsvHeader", "in.csv", kRaw + ",b\n1,2\n", with("in.csv", "text")},
      {"CsvField", "in.csv", "text,b\n\"a\"" + kRaw + ",2\n", with("in.csv", "text")},
      {"CsvFieldName", "in.csv", "text,b\na,2\n", with("in.csv", kRaw)},
      {"Jsonl", "in.jsonl", "{\"text\":" + kRaw + "}\n", with("in.jsonl", "text")},
      {"JsonlIds", "in.jsonl", "{\"text\":[\"" + kEscaped + "\"]}\n", with("in.jsonl", "text")},
      {"JsonlField", "in.jsonl", "{\"text\":1}\n", with("in.jsonl", "/" + kRaw)},
  };
}

std::vector<Harmful> everything_harmful() {
  std::vector<Harmful> all = harmful_config();
  for (auto* part : {&harmful_tokenizer, &harmful_input}) {
    for (Harmful& harmful : part()) all.push_back(std::move(harmful));
  }
  return all;
}

void expect_harmless(const std::string& where, const std::string& text) {
  EXPECT_EQ(printable(text), text) << where;
}

void expect_harmless_files(const std::string& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != "encode.log" && name != "status.json" && name != "faults.jsonl") continue;
    expect_harmless(name, read_bytes(entry.path().string()));
  }
}

class ControlBytesTest : public ::testing::TestWithParam<Harmful> {};

TEST_P(ControlBytesTest, NoRawByteIsShown) {
  const RealRun run("bert", 3);
  run.dir().write("model/modules.json",
                  R"([{"type":"sentence_transformers.models.Transformer","path":""},
                      {"type":"sentence_transformers.models.Pooling","path":"1_Pooling"}])");
  run.dir().write("model/1_Pooling/config.json", R"({"embedding_dimension":64})");
  run.dir().write(GetParam().file, GetParam().content);
  std::vector<std::string> extra = {"--cache-dir", run.dir().file("cache")};
  for (std::string argument : GetParam().arguments) {
    if (argument.starts_with("@")) argument.replace(0, 1, run.dir().path());
    extra.push_back(std::move(argument));
  }
  std::filesystem::create_directory(run.dir().file("cache"));
  for (const bool json : {false, true}) {
    if (json) extra.emplace_back("--json");
    const ProgramEnd end = run.run("out", extra);
    EXPECT_GE(end.exit_code, 64) << end.err;
    EXPECT_LT(end.exit_code, 79) << end.err;
    EXPECT_THAT(end.err, ::testing::HasSubstr("error["));
    expect_harmless("standard error", end.err);
    expect_harmless("standard output", end.out);
  }
  expect_harmless_files(run.dir().path());
}

TEST(ControlBytesOfMatricesTest, NoRawByteIsShown) {
  const TempDir dir;
  const std::string file =
      dir.write("out.npy", npy("{'descr': '" + kRaw + "', 'fortran_order': False, }\n"));
  dir.write("out.npy.manifest.json", "{\"" + kEscaped + "\":" + kRaw);
  for (const bool json : {false, true}) {
    for (std::vector<std::string> command : {std::vector<std::string>{"verify", file},
                                             std::vector<std::string>{"compare", file, file}}) {
      if (json) command.emplace_back("--json");
      const ProgramEnd end = Program(dir.path(), command).wait();
      EXPECT_EQ(end.exit_code, 65) << end.err;
      expect_harmless("standard error", end.err);
      expect_harmless("standard output", end.out);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Loaders, ControlBytesTest, ::testing::ValuesIn(everything_harmful()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace encode::testing
