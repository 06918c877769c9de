// Reads modules.json of sentence-transformers and the modules that it names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "model_dir/model_folder.h"

namespace encode {

inline constexpr const char* kModulesFile = "modules.json";
inline constexpr const char* kModuleConfigFile = "config.json";  // in the folder of each module

enum class ModuleType {
  kTransformer,
  kStatic,  // StaticEmbedding
  kPooling,
  kDense,
  kTokenDense,  // the Dense of PyLate
  kLayerNorm,
  kNormalize,
  kDropout,
  kVectorMask,  // the MultiVectorMask of sentence-transformers 6
  kUnknown,     // a class of another package; it is left out
};

struct ModuleEntry {
  ModuleType type = ModuleType::kTransformer;
  // A folder of the model directory that may not exist ("1_Pooling", "extra/2_Dense"), or "" for
  // the directory itself. The names are not checked.
  std::string path;
  std::string code;  // the type, if it is a class that the repository brings along, else ""
};

// Returns the entries of modules.json in their order. Does not read the folders of the modules. A
// class of the repository itself counts as a Transformer if it is the first module, and as kUnknown
// otherwise; find_custom_code() refuses it unless the user ignores such code. Throws Error kConfig
// "model.modules" if the file is malformed or has a module of sentence-transformers that encode
// does not support, and what ModelFolder throws.
std::vector<ModuleEntry> read_module_entries(const ModelFolder& root);

// The kind of model in a directory with modules.json.
enum class SentenceModelKind {
  kPooled,       // one vector for a text
  kPyLate,       // late interaction: the documents of a ColBERT of PyLate
  kMultiVector,  // late interaction: the documents of a MultiVectorEncoder
};

// What a MultiVectorMask does to documents.
struct VectorMask {
  std::vector<std::string> skip_words;
};

// The modules of a checked modules.json. The first is a Transformer followed by one Pooling, or a
// StaticEmbedding. Any Dense, LayerNorm and Normalize modules follow, in any order. A
// late-interaction model of PyLate has a Transformer, then one or more Dense and no Pooling. A
// MultiVectorEncoder has any number of Dense, one MultiVectorMask and perhaps a last Normalize.
struct ModuleList {
  std::string input_folder;  // of the first module: "" or a name such as "0_Transformer"
  bool is_static = false;    // the first module is a StaticEmbedding
  bool is_late_interaction = false;
  std::optional<VectorMask> mask;  // only of a MultiVectorEncoder

  SentenceModelKind kind() const {
    if (mask) return SentenceModelKind::kMultiVector;
    return is_late_interaction ? SentenceModelKind::kPyLate : SentenceModelKind::kPooled;
  }

  // The modules after the first one. For a StaticEmbedding the list begins with a kPooling, which
  // takes the mean. For a late-interaction model it begins with a kPooling of the mode kNone, and
  // for one of PyLate it ends with a kNormalize. The caller fills in the width of these kPooling.
  std::vector<SentenceModule> modules;
  std::vector<std::string> warnings;
};

// The Error kConfig "model.modules" for a list of modules that encode does not support.
Error bad_modules(const ModelFolder& root, std::string what, std::string found);

// Returns nullopt if there is no modules.json. Does not check whether the widths fit; output_dim()
// does. Throws Error: "model.modules", "model.pooling", "model.dense", "model.layer_norm",
// "model.unsupported", "model.missing". All are kConfig, except "model.missing" (kNoInput). Also
// throws what ModelFolder throws.
std::optional<ModuleList> read_modules(const ModelFolder& root);

// Returns the width of an embedding after `modules`, which begin with the Pooling. Throws Error
// "model.dim" if a module has another input width than the width before it.
int64_t output_dim(const std::vector<SentenceModule>& modules, int64_t hidden_size,
                   const std::string& where);

}  // namespace encode
