#include "model_dir/static_embedding.h"

#include <fmt/format.h>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

#include "base/json.h"
#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/weight_files.h"

namespace encode {
namespace {

constexpr ErrorCode kCode = "model.static_embedding";

// Returns the length to which tokenizer.json truncates. A Transformer module sets the truncation of
// its tokenizer itself, but a StaticEmbedding uses the truncation that is saved in tokenizer.json.
std::optional<int64_t> stated_truncation(const ModelFolder& folder) {
  const std::string where = folder.path_of(kTokenizerJsonFile);
  const Json tokenizer = folder.read_json(kTokenizerJsonFile, kTokenizerJson, "model.tokenizer");
  const JsonFields fields(tokenizer, where, "model.tokenizer");
  if (!fields.has("truncation")) return std::nullopt;
  const JsonFields truncation(fields.object("truncation"), fmt::format("{}, truncation", where),
                              "model.tokenizer");
  return truncation.integer("max_length", 1, kMaxPositions);
}

}  // namespace

StaticEmbedding read_static_embedding(const ModelFolder& folder) {
  StaticEmbedding embedding;
  embedding.tensors = read_module_weights(folder);
  const auto& tensors = embedding.tensors;
  std::vector<std::string> found;
  for (const auto& [name, info] : tensors) {
    found.push_back(fmt::format("{} {} {}", preview(name), info.dtype, Json(info.shape).dump()));
  }
  const auto table = tensors.count("embedding.weight") != 0 ? tensors.find("embedding.weight")
                                                            : tensors.find("embeddings");
  const bool fits = tensors.size() == 1 && table != tensors.end() &&
                    table->second.shape.size() == 2 && table->second.shape[0] <= kMaxVocabSize &&
                    table->second.shape[1] <= kMaxHiddenSize && is_weight_type(table->second.dtype);
  if (!fits) {
    throw Error({.code = kCode,
                 .what = "the weights are not those of a StaticEmbedding",
                 .where = folder.path_of(module_weights_file(folder)),
                 .expected = fmt::format("embedding.weight (or embeddings) [tokens, dim] in {}, "
                                         "and no other tensor",
                                         kWeightTypes),
                 .found = fmt::format("{}", fmt::join(found, ", ")).substr(0, 400),
                 .hint = "a model2vec model with token weights, a mapping or 8-bit numbers must "
                         "be saved with sentence-transformers first"});
  }
  embedding.vocab_size = table->second.shape[0];
  embedding.hidden_size = table->second.shape[1];
  embedding.max_length = stated_truncation(folder);
  return embedding;
}

}  // namespace encode
