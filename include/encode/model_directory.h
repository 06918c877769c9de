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

  bool operator==(const TensorInfo&) const = default;
};

// The activation after a sentence-transformers Dense module: the classes of
// torch.nn.modules.activation that need no argument and have no weights, with PyTorch's defaults.
enum class DenseActivation {
  kIdentity,
  kCelu,
  kElu,
  kGelu,  // the exact erf form
  kHardshrink,
  kHardsigmoid,
  kHardswish,
  kHardtanh,
  kLeakyRelu,
  kLogSigmoid,
  kLogSoftmax,  // over the row
  kMish,
  kRelu,
  kRelu6,
  kRrelu,  // as in inference: a fixed slope
  kSelu,
  kSigmoid,
  kSilu,
  kSoftmax,  // over the row
  kSoftmin,  // over the row
  kSoftplus,
  kSoftshrink,
  kSoftsign,
  kTanh,
  kTanhshrink,
};

// One module after the transformer, in the order of modules.json.
struct SentenceModule {
  enum class Kind { kPooling, kDense, kLayerNorm, kNormalize, kTruncate };
  Kind kind = Kind::kPooling;
  std::string path;                  // its folder, for messages and for a module's weights
  std::vector<PoolingMode> pooling;  // kPooling: concatenated in this order
  bool include_prompt = true;        // kPooling
  int64_t in_features = 0;           // kPooling: width of the token vectors; kDense, kLayerNorm
  int64_t out_features = 0;          // kDense; kTruncate: the first columns that are kept
  bool bias = true;                  // kDense
  bool residual = false;             // kDense: what goes in is added to what comes out
  DenseActivation activation = DenseActivation::kTanh;  // kDense
  // kDense: linear.weight, linear.bias, and residual.weight where widths differ; kLayerNorm:
  // norm.weight, norm.bias.
  std::map<std::string, TensorInfo> tensors;

  bool operator==(const SentenceModule&) const = default;
};

// ModelDirectory::model_type of a directory whose first module is a StaticEmbedding: a row for each
// token, and their mean. It needs no config.json; one is made up from the table's shape.
inline constexpr const char* kStaticEmbedding = "static_embedding";

struct ModelFile {
  std::string name;  // relative to the directory: "model.safetensors", "1_Pooling/config.json"
  std::string path;
  int64_t bytes = 0;
};

// The content of one of them.
struct FileHash {
  std::string name;  // as ModelFile::name
  int64_t bytes = 0;
  std::string sha256;  // hexadecimal digits

  bool operator==(const FileHash&) const = default;
};

struct ModelDirectory {
  std::string path;              // absolute, links resolved
  std::string transformer_path;  // folder of config.json, weights and tokenizer: `path` or one
                                 // level below it
  std::string config_json;  // text of config.json of the transformer, checked to be strict JSON
  std::string model_type;   // "bert", "qwen2", ...; kStaticEmbedding
  int64_t hidden_size = 0;  // width of last_hidden_state: hidden_size, d_model, dim or n_embd
  int64_t vocab_size = 0;
  int64_t max_position_embeddings = 0;  // 0: no limit stated
  // Tokens that fit the table of learned absolute positions (RoBERTa's starts at padding_idx + 1,
  // which is taken off). 0: positions are rotary or relative, so longer texts can be computed.
  int64_t position_limit = 0;
  bool add_special_tokens = true;  // false for a StaticEmbedding
  std::map<std::string, TensorInfo> tensors;
  std::vector<SentenceModule> modules;  // always holds exactly one kPooling, first
  // Tokens, as sentence-transformers 6 works it out: sentence_bert_config.json's max_seq_length,
  // else the smaller of tokenizer_config.json's model_max_length and max_position_embeddings; at
  // most position_limit.
  std::optional<int64_t> max_seq_length;
  std::map<std::string, std::string> prompts;
  std::optional<std::string> default_prompt_name;
  std::string similarity = "cosine";    // that the model was trained for: see SentenceSettings
  std::optional<int64_t> truncate_dim;  // the directory's own
  std::vector<ModelFile> files;         // every file that can change a result, sorted by name
  std::vector<std::string> warnings;    // "no modules.json: mean pooling is assumed", ...
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
// within the limits of src/model_dir/limits.h. Without modules.json it is a plain Hugging Face
// directory, and gets what sentence-transformers 6 gives it: mean pooling (last token for a causal
// ...ForCausalLM), no normalization, no prompts, and a warning.
ModelDirectory open_model_directory(const std::string& path);

// The longest sequence, in tokens, of a model that states no limit, when the user states none
// either: T5 has relative positions, so its config.json may say nothing.
inline constexpr int64_t kDefaultMaxLength = 32768;

// `options` against the directory: every optional filled with the value that is in force.
struct EffectiveResult {
  std::vector<PoolingMode> pooling;
  bool normalize = false;  // the last step is an L2 norm
  // Columns that are kept, as the options or else the directory say; the whole width where it is
  // that. nullopt: nobody said anything.
  std::optional<int64_t> truncate_dim;
  // What runs after the transformer, in this order, overrides applied: the directory's modules with
  // `pooling` in the first, a kTruncate where columns are cut off, and a kNormalize last exactly
  // where `normalize` is true. Without pooling the directory's modules are for another kind of
  // vector: only what the options ask for is done to the tokens'. A directory's Normalize stands
  // before the cut, so that a cut row has length 1 only where the options ask for it, as in
  // sentence-transformers' encode().
  std::vector<SentenceModule> modules;
  int64_t max_length = kDefaultMaxLength;  // tokens, special tokens included; at least 1
  std::string prompt;                      // literal, may be empty
  bool include_prompt = true;              // false: the prompt's tokens are left out of the pooling
  ComputeType dtype = ComputeType::kFloat32;
  MatmulPrecision float32_matmul_precision = MatmulPrecision::kHighest;  // of dtype float32
  std::optional<bool> causal;  // overrides config.json's is_causal
  int64_t dim = 0;             // width of an embedding
  // The rows of a matrix product on a GPU, which decide the bits of the result: see BatchPlan.
  int64_t launch_tokens = 0;

  bool operator==(const EffectiveResult&) const = default;
  bool is_cut() const;  // `modules` has a kTruncate
  bool token_embeddings() const { return pooling.front() == PoolingMode::kNone; }
};
// A literal prompt goes before prompt_name, and that before default_prompt_name. Throws Error
// (kConfig): "model.prompt_name" (lists the valid names), "model.max_length" (above
// position_limit), "model.dim" (the pooling asked for does not fit a Dense module),
// "model.truncate_dim" (wider than the embedding).
EffectiveResult effective_result(const ModelDirectory& directory, const ResultOptions& options);

// One sentence when neither the directory nor the options state a longest text, so that
// kDefaultMaxLength is in force.
std::vector<std::string> length_warnings(const ModelDirectory& directory,
                                         const ResultOptions& options);

// The content of every file in `directory.files`, in that order. `hash_cache` (may be empty) is a
// file that remembers hashes by (device, inode, size, mtime, ctime); one that cannot be read or
// written costs time, not correctness. Throws Error kIoError, also "model.changed" when a file
// changes meanwhile.
std::vector<FileHash> hash_model_files(const ModelDirectory& directory,
                                       const std::string& hash_cache);

}  // namespace encode
