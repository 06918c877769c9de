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
  int64_t in_features = 0;           // kPooling: width of the token vectors; kDense
  int64_t out_features = 0;          // kDense
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
  std::string path;              // absolute, links resolved
  std::string transformer_path;  // folder of config.json, weights and tokenizer: `path` or one
                                 // level below it
  std::string config_json;  // text of config.json of the transformer, checked to be strict JSON
  std::string model_type;   // "bert", "qwen2", ...
  int64_t hidden_size = 0;  // width of last_hidden_state: hidden_size, d_model, dim or n_embd
  int64_t vocab_size = 0;
  int64_t max_position_embeddings = 0;  // 0: no limit stated
  // Tokens that fit the table of learned absolute positions (RoBERTa's starts at padding_idx + 1,
  // which is taken off). 0: positions are rotary or relative, so longer texts can be computed.
  int64_t position_limit = 0;
  std::map<std::string, TensorInfo> tensors;
  std::vector<SentenceModule> modules;  // always holds exactly one kPooling, first
  // Tokens, as sentence-transformers 6 works it out: sentence_bert_config.json's max_seq_length,
  // else the smaller of tokenizer_config.json's model_max_length and max_position_embeddings; at
  // most position_limit.
  std::optional<int64_t> max_seq_length;
  std::map<std::string, std::string> prompts;
  std::optional<std::string> default_prompt_name;
  std::vector<ModelFile> files;       // every file that can change a result, sorted by name
  std::vector<std::string> warnings;  // "no modules.json: mean pooling is assumed", ...
};

// `model` is a directory, or a hub id ("org/name") that is looked up in the local Hugging Face
// cache layout
// ($HF_HUB_CACHE, $HUGGINGFACE_HUB_CACHE, $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub,
// ~/.cache/huggingface/hub; refs/<revision>, "main" by default, or a commit; snapshots/<commit>).
// An id without an organisation is looked for as sentence-transformers/<id> too. Throws Error
// kNoInput "model.not_found" naming every place that was searched.
std::string resolve_model(const std::string& model, const std::optional<std::string>& revision);

// Reads and checks everything but the tensors' bytes. Throws Error: kNoInput for a missing file,
// kConfig for anything malformed or not supported (docs/errors.md lists the "model.*" codes),
// within the limits of docs/reliability.md. Without modules.json it is a plain Hugging Face
// directory, and gets what sentence-transformers 6 gives it: mean pooling (last token for a causal
// ...ForCausalLM), no normalization, no prompts, and a warning.
ModelDirectory open_model_directory(const std::string& path);

// `options` against the directory: every optional filled with the value that is in force.
struct EffectiveResult {
  std::vector<PoolingMode> pooling;
  bool normalize = false;  // the last step is an L2 norm
  // What runs after the transformer, in this order, overrides applied: the directory's modules with
  // `pooling` in the first, and a kNormalize last exactly where `normalize` is true.
  std::vector<SentenceModule> modules;
  int64_t max_length =
      0;  // tokens, special tokens included; 0: neither model nor options state a limit
  std::string prompt;          // literal, may be empty
  bool include_prompt = true;  // false: the prompt's tokens are left out of the pooling
  ComputeType dtype = ComputeType::kFloat32;
  int64_t dim = 0;  // width of an embedding
};
// A literal prompt goes before prompt_name, and that before default_prompt_name. Throws Error
// (kConfig): "model.prompt_name" (lists the valid names), "model.max_length" (above
// position_limit), "model.dim" (the pooling asked for does not fit a Dense module).
EffectiveResult effective_result(const ModelDirectory& directory, const ResultOptions& options);

// Canonical JSON of what the model contributes to a fingerprint: name, size and SHA-256 of every
// file. `hash_cache` (may be empty) is a file that remembers hashes by (device, inode, size, mtime,
// ctime); one that cannot be read or written costs time, not correctness. Throws Error kIoError,
// also "model.changed" where a file changes meanwhile.
std::string model_identity(const ModelDirectory& directory, const std::string& hash_cache);

}  // namespace encode
