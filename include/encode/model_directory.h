// A Hugging Face or sentence-transformers model directory, which is read and checked without
// LibTorch. Nothing here uses the network. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/config.h"
#include "encode/late_interaction.h"
#include "encode/tokenizer_file.h"
#include "encode/types.h"

namespace encode {

// One tensor of a file of weights. Its dtype is known, its bytes lie inside the file, and their
// number fits the shape and the dtype.
struct TensorInfo {
  std::string file;   // the path of the file
  std::string dtype;  // "F32", "F16", "BF16", "I64", ...
  std::vector<int64_t> shape;
  int64_t offset_bytes = 0;  // from the beginning of the file
  int64_t size_bytes = 0;
  // The strides in elements, for a tensor that is stored in another order than row-major, such as a
  // transposed tensor of torch.save(). Empty: row-major order.
  std::vector<int64_t> strides = {};

  bool operator==(const TensorInfo&) const = default;
};

// The activation of a sentence-transformers Dense module. These are the classes of
// torch.nn.modules.activation that need no argument and have no weights, with PyTorch's defaults.
enum class DenseActivation {
  kIdentity,
  kCelu,
  kElu,
  kGelu,  // the exact form with erf
  kHardshrink,
  kHardsigmoid,
  kHardswish,
  kHardtanh,
  kLeakyRelu,
  kLogSigmoid,
  kLogSoftmax,  // over the columns of a row
  kMish,
  kRelu,
  kRelu6,
  kRrelu,  // the fixed slope that PyTorch uses for inference
  kSelu,
  kSigmoid,
  kSilu,
  kSoftmax,  // over the columns of a row
  kSoftmin,  // over the columns of a row
  kSoftplus,
  kSoftshrink,
  kSoftsign,
  kTanh,
  kTanhshrink,
};

// One module after the transformer. The comments name the kinds that use a field.
struct SentenceModule {
  enum class Kind { kPooling, kDense, kLayerNorm, kNormalize, kTruncate };
  Kind kind = Kind::kPooling;
  std::string path;                  // the folder of the module, for messages
  std::vector<PoolingMode> pooling;  // kPooling: the results are concatenated in this order
  bool include_prompt = true;        // kPooling: the tokens of the prompt are pooled too
  int64_t in_features = 0;           // kPooling, kDense, kLayerNorm: the width of the input
  int64_t out_features = 0;          // kDense: the width of the output; kTruncate: columns to keep
  bool bias = true;                  // kDense: the linear layer has a bias
  bool residual = false;             // kDense: the input is added to the output
  DenseActivation activation = DenseActivation::kTanh;  // kDense: what follows the linear layer
  // kDense: linear.weight, linear.bias and, if the widths differ, residual.weight. kLayerNorm:
  // norm.weight and norm.bias.
  std::map<std::string, TensorInfo> tensors;

  bool operator==(const SentenceModule&) const = default;
};

// The value of ModelDirectory::model_type if the first module is a StaticEmbedding, which pools the
// rows of a table without a transformer. Such a directory has no config.json, so
// ModelDirectory::config_json is made from the shape of the table.
inline constexpr const char* kStaticEmbedding = "static_embedding";

struct ModelFile {
  std::string name;  // relative to the directory: "model.safetensors", "1_Pooling/config.json"
  std::string path;
  int64_t bytes = 0;
};

// Identifies the content of a file without reading the file. An edit that keeps the size and sets
// mtime back still changes ctime, because no system call can set ctime.
struct FileKey {
  int64_t device = 0;
  int64_t inode = 0;
  int64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  auto operator<=>(const FileKey&) const = default;
};

// The hash of one ModelFile.
struct FileHash {
  std::string name;  // as ModelFile::name
  int64_t bytes = 0;
  std::string sha256;  // hexadecimal digits
  // While the file has this key, it has this hash. nullopt if the file was so young when it was
  // hashed that a later write may have kept its key.
  std::optional<FileKey> settled_key = std::nullopt;

  bool operator==(const FileHash&) const = default;
};

class OpenedFiles;

// What happens to a directory that names Python code of its own.
// - kRefuse: it is refused, unless encode has a recipe for the code.
// - kIgnore: it is opened as if it named no code, and no recipe applies.
enum class CustomCodePolicy { kRefuse, kIgnore };

// Python code that a directory names, and the recipe by which encode does what the code does.
struct AppliedRecipe {
  std::string name;  // "qwen2_eos"
  std::string code;  // "tokenizer_config.json: auto_map.AutoTokenizer: 'tokenization_qwen.Qwen2..'"
};

// The content of a model directory. open_model_directory() fills it.
struct ModelDirectory {
  std::string path;  // absolute, with links resolved
  // The folder of config.json, the weights and the tokenizer: `path`, or a folder in it.
  std::string transformer_path;
  std::string config_json;  // the text of config.json, which is strict JSON
  std::string model_type;   // "bert", "qwen2", ...; kStaticEmbedding
  int64_t hidden_size = 0;  // the width of a token vector: hidden_size, d_model, dim or n_embd
  int64_t vocab_size = 0;
  int64_t max_position_embeddings = 0;  // in tokens; 0: config.json states no limit
  // The number of tokens that have a learned absolute position. RoBERTa's table begins at
  // padding_idx + 1, and that offset is subtracted. 0: the positions are rotary or relative, so
  // longer texts can be encoded.
  int64_t position_limit = 0;
  bool add_special_tokens = true;  // false for a StaticEmbedding
  std::map<std::string, TensorInfo> tensors;
  // In the order of modules.json. The first module is the only kPooling. modules.json of a
  // late-interaction model has no Pooling; here its modules begin with a kPooling of kNone and end
  // with a kNormalize.
  std::vector<SentenceModule> modules;
  // The limit in tokens, as sentence-transformers 6 computes it: max_seq_length of
  // sentence_bert_config.json. If that is absent, it is the smaller of tokenizer_config.json's
  // model_max_length and max_position_embeddings. It is never above position_limit. For a
  // late-interaction model it is document_length, which counts the marker, if the model states it.
  std::optional<int64_t> max_seq_length;
  bool lower_case_first = false;               // TokenizerRules::lower_case_first
  std::map<std::string, std::string> prompts;  // name -> text
  std::optional<std::string> default_prompt_name;
  std::string similarity = "cosine";    // cosine, dot, euclidean or manhattan
  std::optional<int64_t> truncate_dim;  // the number of columns that the directory keeps
  std::optional<LateInteraction> late_interaction;  // nullopt: not a late-interaction model
  std::vector<AppliedRecipe> recipes;               // docs/models.md lists them
  std::optional<bool> recipe_causal;  // false: a recipe makes the attention bidirectional
  TokenizerRecipe tokenizer_recipe = TokenizerRecipe::kNone;
  std::vector<ModelFile> files;  // every file that can change a result, sorted by name
  // The weights, which stay open, and the content that each file must have. Copies share it.
  std::shared_ptr<OpenedFiles> opened;
  std::vector<std::string> warnings;  // one sentence each, for the user
};

// Finds the directory of a model. `model` is a directory, or a hub id ("org/name") that is looked
// up in the local Hugging Face cache. An id without an organisation is also looked up as
// sentence-transformers/<id>. `revision` is for hub ids: a branch, a tag or a commit; the default
// is "main". These caches are searched, in this order:
//   $HF_HUB_CACHE
//   $HUGGINGFACE_HUB_CACHE
//   $HF_HOME/hub
//   $XDG_CACHE_HOME/huggingface/hub
//   ~/.cache/huggingface/hub
// Throws Error: kNoInput "model.not_found" that names every path that was searched, kConfig
// "model.revision" if a directory is given with a revision.
std::string resolve_model(const std::string& model, const std::optional<std::string>& revision);

// Reads and checks the directory, except the bytes of the tensors. A directory without modules.json
// gets what sentence-transformers 6 gives it: mean pooling (or last-token pooling for a causal
// ...ForCausalLM), no normalization, no prompts, and a warning. Throws Error: kNoInput if a file is
// missing, kConfig if anything is malformed, not supported or above the limits of
// src/model_dir/limits.h, and "model.custom_code" for Python code without a recipe. docs/errors.md
// lists the "model.*" codes.
ModelDirectory open_model_directory(const std::string& path,
                                    CustomCodePolicy code = CustomCodePolicy::kRefuse);
// Does the same, and proves that every file has the content that hash_model_files() has hashed: the
// bytes that are parsed here, and later the bytes that the weights and the tokenizer are loaded
// from. A file that `expected` does not have counts as absent. Also throws Error kIoError
// "model.changed" for a file with other content. Another inode or time stamp alone is no error.
ModelDirectory open_model_directory(const std::string& path, std::vector<FileHash> expected,
                                    CustomCodePolicy code = CustomCodePolicy::kRefuse);

// Reads the files that the tokenizer is made from; for a StaticEmbedding this is tokenizer.json
// alone. The result has the given `rules`. Throws the errors of open_model_directory() and
// make_tokenizer_source().
TokenizerSource read_tokenizer_source(const ModelDirectory& directory, const TokenizerRules& rules);

// The longest sequence, in tokens, if neither the model nor the user states a limit. T5, for
// example, has relative positions, so its config.json may state none.
inline constexpr int64_t kDefaultMaxLength = 32768;

// The effective result options: the options of the run, which override what the directory says.
struct EffectiveResult {
  std::vector<PoolingMode> pooling;  // at least one; kNone only alone
  bool normalize = false;            // true: the last step scales every vector to length 1
  // The number of columns that are kept. nullopt: neither the options nor the directory states it,
  // and all columns are kept.
  std::optional<int64_t> truncate_dim;
  // The modules that run after the transformer, in this order:
  // - the directory's modules, with `pooling` in the first of them, and without a final kNormalize
  //   if the options refuse it,
  // - a kTruncate, if columns are cut off,
  // - a kNormalize, if the options ask for it and no kNormalize is last already.
  // With PoolingMode::kNone the directory's other modules are left out, because they are made for
  // pooled vectors. The modules of a late-interaction model stay, because they are made for
  // tokens. The directory's kNormalize comes before the cut, so a cut vector has length 1 only if
  // the options ask for it, as in encode() of sentence-transformers.
  std::vector<SentenceModule> modules;
  int64_t max_length = kDefaultMaxLength;  // in tokens, special tokens included; at least 1
  std::string prompt;                      // literal text; may be empty
  bool include_prompt = true;              // false: pooling leaves out the prompt's tokens
  ComputeType dtype = ComputeType::kFloat32;
  MatmulPrecision float32_matmul_precision = MatmulPrecision::kHighest;  // only for float32
  std::optional<bool> causal;  // overrides is_causal of config.json; from the options or a recipe
  int64_t dim = 0;             // the width of an embedding
  // The number of rows in a matrix product on a GPU. It decides the bits of the result: see
  // BatchPlan.
  int64_t launch_tokens = 0;
  VectorPrecision vector_precision = VectorPrecision::kFloat32;
  std::optional<LateInteraction> late_interaction;  // as in ModelDirectory
  TokenizerRules tokenizer;
  bool ignore_custom_code = false;           // as in ResultOptions
  std::vector<std::string> recipes;          // the names of ModelDirectory::recipes
  std::optional<PassageRule> passages = {};  // nullopt: the rows are not cut
  RowVector row_vector = RowVector::kNone;   // kNone without passages

  bool operator==(const EffectiveResult&) const = default;
  bool is_cut() const;  // true if `modules` has a kTruncate
  bool token_embeddings() const { return pooling.front() == PoolingMode::kNone; }
  // True: a row has a vector for each of its passages.
  bool passage_vectors() const { return passages && row_vector == RowVector::kNone; }
  // Returns what a sequence that the model encodes is called: "row", "passage" or "window".
  std::string_view sequence_name() const;
  // Returns the most tokens of a sequence that the model encodes.
  int64_t longest_sequence() const {
    return passages && !passages->late() ? passages->max_tokens : max_length;
  }
};
// Resolves the options. A literal prompt overrides prompt_name, which overrides the directory's
// default_prompt_name. Throws Error kConfig:
// - "model.prompt_name" if the model has no such prompt; the error lists the valid names,
// - "model.max_length" if it is above position_limit, or has no room for the marker, and if a
//   passage may have more tokens than a row, or than half a row with PassageVectors::kLate,
// - "model.pooling" if a late-interaction model is asked for pooled vectors, passages are asked for
//   a vector for each token, or PassageVectors::kLate for another pooling than the mean, and
//   "model.unsupported" if it is asked for queries,
// - "model.dim" if the pooling does not fit a Dense module,
// - "model.truncate_dim" if it is wider than the embedding.
EffectiveResult effective_result(const ModelDirectory& directory, const ResultOptions& options);

// Returns EffectiveResult::tokenizer. Works even if other options are not valid.
TokenizerRules tokenizer_rules(const ModelDirectory& directory, const ResultOptions& options);

// Returns kIgnore if ResultOptions::ignore_custom_code is true, and kRefuse otherwise.
CustomCodePolicy custom_code_policy(bool ignore_custom_code);

// Returns a warning for the user if neither the directory nor the options limit the length, so that
// kDefaultMaxLength applies, and an empty list otherwise.
std::vector<std::string> length_warnings(const ModelDirectory& directory,
                                         const ResultOptions& options);

// Returns the hashes of `directory.files`, in the same order. `hash_cache` is a file that remembers
// hashes by (device, inode, size, mtime, ctime); "" for none. If that file cannot be read or
// written, all files are hashed again. Throws Error kIoError, with the code "model.changed" if a
// file changes while it is hashed. Throws kNoInput or kNoPermission if a file cannot be opened.
std::vector<FileHash> hash_model_files(const ModelDirectory& directory,
                                       const std::string& hash_cache);

}  // namespace encode
