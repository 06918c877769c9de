#include "model_dir/sentence_settings.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>

#include "encode/error.h"

#include "base/json.h"
#include "base/units.h"
#include "model_dir/limits.h"

namespace encode {
namespace {

// The defaults of PyLate. The punctuation is string.punctuation of Python.
constexpr const char* kDocumentPrefix = "[D] ";
constexpr int64_t kDocumentLength = 180;
constexpr std::string_view kPunctuation = R"(!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~)";

void require_embedding_model(const JsonFields& fields, const std::string& where,
                             SentenceModelKind kind) {
  static constexpr const char* kMultiVector = "MultiVectorEncoder";
  const bool masked = kind == SentenceModelKind::kMultiVector;
  const std::string type =
      fields.string_or("model_type", masked ? kMultiVector : "SentenceTransformer");
  if (masked ? type == kMultiVector : type == "SentenceTransformer") return;
  if (kind == SentenceModelKind::kPyLate && type == "ColBERT") return;
  throw Error({.code = "model.unsupported",
               .what = masked || type == kMultiVector
                           ? "model_type and modules.json do not fit each other"
                           : "the model is not an embedding model",
               .where = where,
               .expected = masked ? "MultiVectorEncoder, because modules.json has a MultiVectorMask"
                           : type == kMultiVector ? "a MultiVectorMask in modules.json"
                                                  : "SentenceTransformer",
               .found = fmt::format("'{}'", preview(type)),
               .hint = "encode it with sentence-transformers"});
}

std::map<std::string, std::string> read_prompts(const JsonFields& fields) {
  std::map<std::string, std::string> prompts;
  if (!fields.has("prompts")) return prompts;
  const Json& texts = fields.object("prompts");
  if (static_cast<int64_t>(texts.size()) > kMaxPrompts) {
    fields.refuse("prompts", fmt::format("at most {}", kMaxPrompts), fmt::to_string(texts.size()));
  }
  for (const auto& [name, text] : texts.items()) {
    if (!text.is_string() && !text.is_null())
      fields.refuse("prompts", "strings", preview(text.dump()));
    prompts[name] = text.is_null() ? "" : text.get<std::string>();
  }
  return prompts;
}

void read_default_prompt(const JsonFields& fields, SentenceSettings& settings) {
  if (!fields.has("default_prompt_name")) return;
  const std::string name = fields.string("default_prompt_name");
  // sentence-transformers always has these two prompts, with an empty text.
  if (name == "query" || name == "document") settings.prompts.try_emplace(name);
  if (settings.prompts.count(name) == 0)
    fields.refuse("default_prompt_name", "a name in 'prompts'", fmt::format("'{}'", preview(name)));
  settings.default_prompt_name = name;
}

// Reads the similarity. An unknown name leaves the default in place, as in sentence-transformers.
void read_similarity(const JsonFields& fields, const std::string& where,
                     SentenceSettings& settings) {
  static constexpr std::array<std::string_view, 4> kNames = {"cosine", "dot", "euclidean",
                                                             "manhattan"};
  const std::string name = fields.string_or("similarity_fn_name", settings.similarity);
  // MaxSim is made of the cosines of tokens, so the similarity stays "cosine".
  if (settings.late_interaction && (name == "MaxSim" || name == "maxsim" || name == "meanmaxsim"))
    return;
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) {
    settings.similarity = name;
    return;
  }
  settings.warnings.push_back(fmt::format("{}: the similarity '{}' is not known, {} is assumed",
                                          where, preview(name), settings.similarity));
}

void use_pylate_defaults(SentenceSettings& settings) {
  LateInteraction& late = settings.late_interaction.emplace();
  late.marker = kDocumentPrefix;
  for (const char sign : kPunctuation) late.skip_words.emplace_back(1, sign);
  settings.document_length = kDocumentLength;
}

void read_pylate_settings(const Json& config, const JsonFields& fields,
                          SentenceSettings& settings) {
  LateInteraction& late = *settings.late_interaction;
  late.marker = fields.string_or("document_prefix", late.marker);
  if (fields.has("document_length")) {
    settings.document_length =
        fields.integer("document_length", late.least_length(), kMaxPositions);
  }
  if (!fields.has("skiplist_words")) return;
  const Json& words = config.at("skiplist_words");
  if (!words.is_array() || static_cast<int64_t>(words.size()) > kMaxSkipWords) {
    fields.refuse("skiplist_words", fmt::format("a list of at most {} strings", kMaxSkipWords),
                  preview(words.dump()));
  }
  late.skip_words.clear();
  for (const Json& word : words) {
    if (!word.is_string()) fields.refuse("skiplist_words", "strings", preview(word.dump()));
    late.skip_words.push_back(word.get<std::string>());
  }
}

// Uses the prompt of MultiVectorEncoder.encode_document(). Refuses the settings of PyLate, which
// would mean something else in this class.
void use_document_prompt(const JsonFields& fields, SentenceSettings& settings) {
  for (const char* key : {"document_prefix", "query_prefix", "skiplist_words", "document_length"}) {
    if (fields.has(key)) fields.refuse(key, "absent, or a model_type of PyLate (ColBERT)");
  }
  for (const char* name : {"corpus", "passage", "document"}) {
    if (settings.prompts.contains(name)) settings.default_prompt_name = name;
  }
}

}  // namespace

SentenceSettings read_sentence_settings(const ModelFolder& root, SentenceModelKind kind) {
  SentenceSettings settings;
  if (kind == SentenceModelKind::kPyLate) use_pylate_defaults(settings);
  if (kind == SentenceModelKind::kMultiVector)
    settings.late_interaction.emplace().drops_unknown_words = true;
  if (!root.has(kSettingsFile)) return settings;
  const std::string where = root.path_of(kSettingsFile);
  const Json config = root.read_json(kSettingsFile, kConfigJson, "model.prompts");
  const JsonFields fields(config, where, "model.prompts");
  require_embedding_model(fields, where, kind);
  settings.prompts = read_prompts(fields);
  read_default_prompt(fields, settings);
  read_similarity(fields, where, settings);
  if (fields.has("truncate_dim"))
    settings.truncate_dim = fields.integer("truncate_dim", 1, kMaxEmbeddingDim);
  if (kind == SentenceModelKind::kPyLate) read_pylate_settings(config, fields, settings);
  if (kind == SentenceModelKind::kMultiVector) use_document_prompt(fields, settings);
  return settings;
}

}  // namespace encode
