// Reads any bytes as one JSON file of a model directory; the other files are valid. The result must
// be an Error, or a directory with an effective result within the limits. The first byte chooses
// the file.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "require.h"
#include "support/safetensors_writer.h"

namespace {

struct File {
  const char* name;
  std::string_view sound;
};

constexpr std::array<File, 8> kFiles = {{
    {"config.json",
     R"({"model_type": "bert", "hidden_size": 4, "vocab_size": 10, "max_position_embeddings": 32})"},
    {"modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
        {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
        {"type": "sentence_transformers.models.Dense", "path": "2_Dense"},
        {"type": "sentence_transformers.models.Normalize", "path": "3_Normalize"}])"},
    {"1_Pooling/config.json", R"({"embedding_dimension": 4, "pooling_mode": "mean"})"},
    {"2_Dense/config.json", R"({"in_features": 4, "out_features": 2})"},
    {"sentence_bert_config.json", R"({"max_seq_length": 16})"},
    {"tokenizer_config.json", R"({"model_max_length": 24})"},
    {"config_sentence_transformers.json", R"({"prompts": {"query": "q: "}})"},
    {"model.safetensors.index.json", R"({"weight_map": {"a": "s.safetensors"}})"},
}};

void write(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
}

// Makes a directory in memory, which stays until the process ends, and returns its path.
std::string make_directory() {
  using encode::testing::safetensors_bytes;
  using encode::testing::zeros_tensor;
  std::string path = "/dev/shm/fuzz_model_dir_XXXXXX";
  require(::mkdtemp(path.data()) != nullptr, "a folder in memory can be made");
  std::filesystem::create_directory(path + "/1_Pooling");
  std::filesystem::create_directory(path + "/2_Dense");
  for (const File& file : kFiles) write(path + "/" + file.name, file.sound);
  write(path + "/s.safetensors", safetensors_bytes({zeros_tensor("a", {2})}));
  write(
      path + "/2_Dense/model.safetensors",
      safetensors_bytes({zeros_tensor("linear.weight", {2, 4}), zeros_tensor("linear.bias", {2})}));
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const std::string directory = make_directory();
  const File& file = kFiles[data[0] % kFiles.size()];
  const std::string path = directory + "/" + file.name;
  write(path, {reinterpret_cast<const char*>(data) + 1, size - 1});
  try {
    const encode::ModelDirectory model = encode::open_model_directory(directory);
    const encode::EffectiveResult result = encode::effective_result(model, {});
    require(result.dim >= 1 && result.dim <= 6 * 16384, "the width is within the limits");
    require(result.max_length >= 1, "the length is at least 1");
    require(model.position_limit == 0 || result.max_length <= model.position_limit,
            "the length is within the positions");
    require(model.modules.front().kind == encode::SentenceModule::Kind::kPooling,
            "the pooling is the first module");
    for (const encode::ModelFile& opened : model.files) {
      require(
          opened.name.find("..") == std::string::npos || opened.name.find('/') == std::string::npos,
          "every file is inside the directory");
    }
  } catch (const encode::Error& error) {
    require(error.detail().code && !error.detail().what.empty(),
            "an Error has a code and says what happened");
  }
  write(path, file.sound);
  return 0;
}
