// A Hugging Face or sentence-transformers model directory, read and checked without LibTorch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/types.h"

namespace encode {

// One tensor of a safetensors file, checked: dtype known, range inside the file, shape x size ==
// range.
struct TensorInfo {
  std::string file;   // path
  std::string dtype;  // "F32", "F16", "BF16", "I64", ...
  std::vector<int64_t> shape;
  int64_t offset_bytes = 0;  // from the beginning of the file
  int64_t size_bytes = 0;
};

// The activation after a sentence-transformers Dense module.
enum class DenseActivation { kIdentity, kTanh, kRelu, kGelu, kSigmoid };

// One module after the transformer, in the order of modules.json.
struct SentenceModule {
  enum class Kind { kPooling, kDense, kNormalize };
  Kind kind = Kind::kPooling;
  std::string path;                  // its folder, for messages and for a Dense module's weights
  std::vector<PoolingMode> pooling;  // kPooling: concatenated in this order
  bool include_prompt = true;        // kPooling
  int64_t in_features = 0;           // kDense
  int64_t out_features = 0;
  bool bias = true;
  DenseActivation activation = DenseActivation::kTanh;
  std::map<std::string, TensorInfo> tensors;  // kDense: linear.weight, linear.bias
};

struct ModelFile {
  std::string name;  // relative to the directory: "model.safetensors", "1_Pooling/config.json"
  std::string path;
  int64_t bytes = 0;
};

struct ModelDirectory {
  std::string path;         // absolute
  std::string config_json;  // text of config.json of the transformer, checked to be strict JSON
  std::string model_type;   // "bert", "qwen2", ...
  int64_t hidden_size = 0;
  int64_t vocab_size = 0;
  int64_t max_position_embeddings = 0;  // 0: no limit stated
  std::map<std::string, TensorInfo> tensors;
  std::vector<SentenceModule> modules;  // always holds exactly one kPooling, first
  std::optional<int64_t>
      max_seq_length;  // sentence_bert_config.json, else tokenizer_config.json's model_max_length
  std::map<std::string, std::string> prompts;
  std::optional<std::string> default_prompt_name;
  std::vector<ModelFile> files;       // every file that can change a result, sorted by name
  std::vector<std::string> warnings;  // "no modules.json: mean pooling is assumed", ...
};

// `model` is a directory, or a hub id ("org/name") that is looked up in the local Hugging Face
// cache layout
// ($HF_HUB_CACHE, $HF_HOME/hub, ~/.cache/huggingface/hub; refs/<revision>, snapshots/<commit>).
// Throws Error kNoInput naming every place that was searched.
std::string resolve_model(const std::string& model, const std::optional<std::string>& revision);

// Reads and checks everything but the tensors' bytes. Throws Error: kNoInput for a missing file,
// kConfig for anything malformed (docs/errors.md lists them), within the limits of
// docs/reliability.md.
ModelDirectory open_model_directory(const std::string& path);

// `options` against the directory: every optional filled with the value that is in force.
struct EffectiveResult {
  std::vector<PoolingMode> pooling;
  bool normalize = false;
  int64_t max_length = 0;
  std::string prompt;          // literal, may be empty
  bool include_prompt = true;  // false: the prompt's tokens are left out of the pooling
  ComputeType dtype = ComputeType::kFloat32;
  int64_t dim = 0;  // width of an embedding
};
EffectiveResult effective_result(const ModelDirectory& directory, const ResultOptions& options);

// Canonical JSON of what the model contributes to a fingerprint: name, size and SHA-256 of every
// file. `hash_cache` (may be empty) is a file that remembers hashes by (device, inode, size, mtime,
// ctime).
std::string model_identity(const ModelDirectory& directory, const std::string& hash_cache);

}  // namespace encode
