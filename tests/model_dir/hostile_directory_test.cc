// Tests attacks on a model directory, except attacks on the header of a safetensors file.
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/safetensors_writer.h"
#include "tiny_model.h"

namespace encode {
namespace {

using testing::expect_open_refused;
using testing::Expected;
using testing::safetensors_bytes;
using testing::TinyModel;
using testing::zeros_tensor;

constexpr ExitCode kNoInput = ExitCode::kNoInput;

std::string index_of(const std::string& shard) {
  return R"({"weight_map": {"a": ")" + shard + R"("}})";
}

// --- Names and places

class UnsafeShardName : public ::testing::TestWithParam<const char*> {};

TEST_P(UnsafeShardName, IsRefused) {
  const TinyModel model;
  model.remove("model.safetensors");
  model.write("model.safetensors.index.json", index_of(GetParam()));
  expect_open_refused(model, {"model.name", "may not refer to", "letters, digits", ""});
}

INSTANTIATE_TEST_SUITE_P(Names, UnsafeShardName,
                         ::testing::Values("../model.safetensors", "/etc/passwd", "..", ".", "",
                                           ".hidden", "a/b", "a\\\\b", "a\\u0000b", "-x", "a b"));

TEST(HostileDirectory, ModulePathOutsideIsRefused) {
  const TinyModel model;
  model.write("modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
                                  {"type": "sentence_transformers.models.Pooling", "path": "../1_Pooling"}])");
  expect_open_refused(model, {"model.name", "may not refer to", "letters", "'../1_Pooling'"});
}

TEST(HostileDirectory, TransformerPathOutsideIsRefused) {
  const TinyModel model;
  model.write("modules.json",
              R"([{"type": "sentence_transformers.models.Transformer", "path": "/tmp"},
                                  {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])");
  expect_open_refused(model, {"model.name", "may not refer to", "letters", "'/tmp'"});
}

TEST(HostileDirectory, FifoIsRefusedAndNeverWaitedFor) {
  const TinyModel model;
  model.remove("model.safetensors");
  ASSERT_EQ(::mkfifo(model.file("model.safetensors").c_str(), 0600), 0);
  expect_open_refused(
      model, {"model.not_a_file", "not a regular file", "a regular file", "a FIFO", kNoInput});
}

TEST(HostileDirectory, DirectoryAsFileIsRefused) {
  const TinyModel model;
  model.remove("tokenizer.json");
  std::filesystem::create_directory(model.file("tokenizer.json"));
  expect_open_refused(
      model, {"model.not_a_file", "not a regular file", "a regular file", "a directory", kNoInput});
}

TEST(HostileDirectory, MissingDirectoryAndMissingFilesAreNamed) {
  testing::expect_refused(
      [] { open_model_directory("/nonexistent/model"); },
      {"model.missing", "cannot be opened", "a directory", "nothing", kNoInput});
  const TinyModel model;
  model.remove("1_Pooling/config.json");
  expect_open_refused(
      model, {"model.missing", "a file of the model is missing", "a file", "nothing", kNoInput});
}

// --- Weights in other formats

TEST(HostileDirectory, OtherFormatsAreRefusedWithTheWayToConvertThem) {
  for (const char* name : {"model.bin", "model.pt", "model.pkl"}) {
    const TinyModel model;
    model.remove("model.safetensors");
    model.write(name, "\x80\x04");
    expect_open_refused(model, {"model.format", "in a format that encode does not read",
                                "model.safetensors", name});
    try {
      model.open();
    } catch (const Error& error) {
      EXPECT_NE(error.detail().hint.find("save_pretrained"), std::string::npos);
    }
  }
}

TEST(HostileDirectory, NoWeightsAtAll) {
  const TinyModel model;
  model.remove("model.safetensors");
  expect_open_refused(
      model, {"model.missing", "no weights", "pytorch_model.bin", "none of them", kNoInput});
}

// --- Shards

class Shards : public ::testing::Test {
 protected:
  Shards() {
    model_.remove("model.safetensors");
    model_.write("s1.safetensors", safetensors_bytes({zeros_tensor("a", {2})}));
    model_.write("s2.safetensors",
                 safetensors_bytes({zeros_tensor("b", {3}), zeros_tensor("c", {1})}));
    index(R"({"a": "s1.safetensors", "b": "s2.safetensors", "c": "s2.safetensors"})");
  }
  void index(const std::string& weight_map) const {
    model_.write("model.safetensors.index.json",
                 R"({"metadata": {"total_size": 24}, "weight_map": )" + weight_map + "}");
  }
  TinyModel model_;
};

TEST_F(Shards, AreReadTogether) {
  const ModelDirectory directory = model_.open();
  ASSERT_EQ(directory.tensors.size(), 3u);
  EXPECT_EQ(directory.tensors.at("c").file,
            std::filesystem::canonical(model_.file("s2.safetensors")).string());
}

TEST_F(Shards, TensorMissingFromItsShard) {
  index(
      R"({"a": "s1.safetensors", "b": "s2.safetensors", "c": "s2.safetensors", "d": "s1.safetensors"})");
  expect_open_refused(model_, {"model.index", "not in the shard", "tensor 'd' in 's1.safetensors'",
                               "no such tensor"});
}

TEST_F(Shards, TensorInAnotherShard) {
  index(R"({"a": "s2.safetensors", "b": "s2.safetensors", "c": "s1.safetensors"})");
  expect_open_refused(model_,
                      {"model.index", "does not place there", "weight_map", "'s2.safetensors'"});
}

TEST_F(Shards, UnlistedTensor) {
  index(R"({"a": "s1.safetensors", "b": "s2.safetensors"})");
  expect_open_refused(model_, {"model.index", "does not place there", "tensor 'c'", "not listed"});
}

TEST_F(Shards, MissingShard) {
  model_.remove("s2.safetensors");
  expect_open_refused(model_, {"model.missing", "missing", "a file", "nothing", kNoInput});
}

TEST_F(Shards, AShardWithNothingButAHeadIsNotOpened) {
  model_.write("s3.safetensors", safetensors_bytes({zeros_tensor("lm_head.weight", {3})}));
  index(R"({"a": "s1.safetensors", "b": "s2.safetensors", "c": "s2.safetensors",
            "lm_head.weight": "s3.safetensors"})");
  const ModelDirectory with = model_.open();
  EXPECT_EQ(with.tensors.size(), 3u);
  model_.remove("s3.safetensors");
  const ModelDirectory without = model_.open();
  EXPECT_EQ(without.tensors, with.tensors);
  EXPECT_EQ(without.files.size(), with.files.size());  // so the fingerprint is the same
}

TEST_F(Shards, AHeadBesideOtherTensorsIsRead) {
  model_.write("s1.safetensors",
               safetensors_bytes({zeros_tensor("a", {2}), zeros_tensor("lm_head.weight", {3})}));
  index(R"({"a": "s1.safetensors", "b": "s2.safetensors", "c": "s2.safetensors",
            "lm_head.weight": "s1.safetensors"})");
  EXPECT_EQ(model_.open().tensors.size(), 4u);
}

TEST_F(Shards, AMillionShards) {
  std::string map = "{";
  for (int i = 0; i < 1'000'000; ++i) {
    map += (i == 0 ? "\"" : ",\"") + fmt::to_string(i) + "\":\"" + fmt::to_string(i) +
           ".safetensors\"";
  }
  index(map + "}");
  expect_open_refused(model_, {"model.index", "too large", "at most 16777216 bytes", "bytes"});
}

TEST_F(Shards, MoreShardsThanTheLimit) {
  std::string map = "{";
  for (int i = 0; i < 1025; ++i)
    map += (i == 0 ? "\"" : ",\"") + fmt::to_string(i) + "\":\"" + fmt::to_string(i) + "\"";
  index(map + "}");
  expect_open_refused(model_, {"model.index", "too many shards", "at most 1024", "more than 1024"});
}

TEST_F(Shards, ShardNameThatIsNotAString) {
  index(R"({"a": 1})");
  expect_open_refused(model_, {"model.index", "not a string", "a file name", "1"});
}

// --- config.json and the other JSON files

struct BadConfig {
  std::string name;
  std::string json;
  std::string what;
  std::string expected;
  std::string found;
};

void PrintTo(const BadConfig& config, std::ostream* out) { *out << config.name; }

class HostileConfig : public ::testing::TestWithParam<BadConfig> {};

TEST_P(HostileConfig, IsRefused) {
  const TinyModel model;
  model.write("config.json", GetParam().json);
  expect_open_refused(model,
                      {"model.config", GetParam().what, GetParam().expected, GetParam().found});
}

std::string config_with(const std::string& fields) {
  return R"({"model_type": "bert", )" + fields + "}";
}

std::string config_name(const ::testing::TestParamInfo<BadConfig>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Fields, HostileConfig,
    ::testing::Values(
        BadConfig{"HiddenSize2To31", config_with(R"("hidden_size": 2147483648, "vocab_size": 10)"),
                  "'hidden_size'", "1 to 16384", "2147483648"},
        BadConfig{"HiddenSizeZero", config_with(R"("hidden_size": 0, "vocab_size": 10)"),
                  "'hidden_size'", "1 to 16384", "0"},
        BadConfig{"HiddenSizeNegative", config_with(R"("hidden_size": -4, "vocab_size": 10)"),
                  "'hidden_size'", "1 to", "-4"},
        BadConfig{"HiddenSizeFraction", config_with(R"("hidden_size": 4.5, "vocab_size": 10)"),
                  "'hidden_size'", "an integer", "4.5"},
        BadConfig{"HiddenSizeString", config_with(R"("hidden_size": "4", "vocab_size": 10)"),
                  "'hidden_size'", "an integer", "\"4\""},
        BadConfig{"HiddenSizeMissing", config_with(R"("vocab_size": 10)"), "'hidden_size'",
                  "an integer", "missing"},
        BadConfig{"HiddenSizeBeyond64Bits",
                  config_with(R"("hidden_size": 18446744073709551616, "vocab_size": 10)"),
                  "'hidden_size'", "an integer", "1.8"},
        BadConfig{"HiddenSize1e400", config_with(R"("hidden_size": 1e400, "vocab_size": 10)"),
                  "malformed JSON", "", ""},
        BadConfig{"VocabularyTooLarge", config_with(R"("hidden_size": 4, "vocab_size": 4000001)"),
                  "'vocab_size'", "4000000", "4000001"},
        BadConfig{"TooManyLayers",
                  config_with(R"("hidden_size": 4, "vocab_size": 10, "num_hidden_layers": 257)"),
                  "'num_hidden_layers'", "1 to 256", "257"},
        BadConfig{"TooManyPositions",
                  config_with(
                      R"("hidden_size": 4, "vocab_size": 10, "max_position_embeddings": 1048577)"),
                  "'max_position_embeddings'", "1048576", "1048577"},
        BadConfig{"DuplicateKey",
                  config_with(R"("hidden_size": 4, "hidden_size": 8, "vocab_size": 10)"),
                  "malformed JSON", "unique keys", "'hidden_size' appears twice"},
        BadConfig{"NoModelType", R"({"hidden_size": 4, "vocab_size": 10})", "'model_type'",
                  "a string", "missing"},
        BadConfig{"NotAnObject", "[1]", "not a JSON object", "", "array"},
        BadConfig{"DepthOfAMillion", std::string(1'000'000, '['), "malformed JSON", "",
                  "nested deeper than 32"},
        BadConfig{"TwoMegabytes", "{\"a\": \"" + std::string(2 << 20, 'x') + "\"}", "too large",
                  "1048576", "20971"}),
    config_name);

TEST(MissingModelType, IsThatOfTheArchitectures) {
  const TinyModel model;
  for (const auto& [name, type] :
       std::map<std::string, std::string>{{"BertModel", "bert"},
                                          {"XLMRobertaForMaskedLM", "xlm-roberta"},
                                          {"XLMRobertaXLModel", "xlm-roberta-xl"},
                                          {"T5EncoderModel", "t5"},
                                          {"Gemma3ForCausalLM", "gemma3_text"}}) {
    model.write("config.json", fmt::format(R"({{"architectures": ["{}"], "hidden_size": 4,
        "vocab_size": 10, "max_position_embeddings": 32}})",
                                           name));
    const ModelDirectory directory = model.open();
    EXPECT_EQ(directory.model_type, type);
    EXPECT_EQ(Json::parse(directory.config_json).at("model_type"), type);
    ASSERT_FALSE(directory.warnings.empty());
    EXPECT_NE(directory.warnings.back().find(name), std::string::npos);
  }
}

TEST(MissingModelType, IsNotGuessed) {
  const TinyModel model;
  for (const char* architectures : {R"(["CustomModel"])", R"(["BertModel", "GPT2Model"])",
                                    R"(["BertTokenizer"])", R"(["Gemma3Model"])", "[1]", "[]"}) {
    model.write("config.json",
                fmt::format(R"({{"architectures": {}, "hidden_size": 4, "vocab_size": 10}})",
                            architectures));
    expect_open_refused(model, {"model.config", "'architectures'", "no model_type", ""});
  }
}

TEST(HostileDirectory, RobertaWithoutRoomForItsPaddingRowIsRefused) {
  const TinyModel model;
  model.write("config.json",
              R"({"model_type": "roberta", "hidden_size": 4, "vocab_size": 10, "pad_token_id": 1,
                                 "max_position_embeddings": 2})");
  expect_open_refused(
      model, {"model.config", "'max_position_embeddings'", "more than pad_token_id + 1 = 2", "2"});
}

TEST(HostileDirectory, AdapterDirectoryIsRefused) {
  const TinyModel model;
  model.write("adapter_config.json", "{}");
  expect_open_refused(
      model, {"model.unsupported", "PEFT adapter", "all its weights", "adapter_config.json"});
}

}  // namespace
}  // namespace encode
