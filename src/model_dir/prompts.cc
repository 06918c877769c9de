#include "model_dir/prompts.h"

#include <utility>

#include "base/json.h"
#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/refusal.h"

namespace encode {

Prompts read_prompts(const ModelFolder& root) {
  Prompts prompts;
  if (!root.has(kPromptsFile)) return prompts;
  const std::string where = root.path_of(kPromptsFile);
  const Json config = root.read_json(kPromptsFile, kConfigJson, "model.prompts");
  const JsonFields fields(config, where, "model.prompts");
  const auto unsupported = [&where](std::string what, std::string expected, std::string found) {
    return refusal({.code = "model.unsupported",
                    .what = std::move(what),
                    .where = where,
                    .expected = std::move(expected),
                    .found = std::move(found),
                    .hint = "encode it with sentence-transformers"});
  };
  const std::string type = fields.string_or("model_type", "SentenceTransformer");
  if (type != "SentenceTransformer") {
    throw unsupported("the model is not an embedding model", "SentenceTransformer",
                      "'" + preview(type) + "'");
  }
  if (fields.has("truncate_dim")) {
    throw unsupported("the model cuts its embeddings to 'truncate_dim' numbers", "no truncate_dim",
                      preview(config.at("truncate_dim").dump()));
  }
  if (fields.has("prompts")) {
    const Json& texts = fields.object("prompts");
    if (static_cast<int64_t>(texts.size()) > kMaxPrompts) {
      fields.refuse("prompts", "at most " + std::to_string(kMaxPrompts),
                    std::to_string(texts.size()));
    }
    for (const auto& [name, text] : texts.items()) {
      if (!text.is_string() && !text.is_null())
        fields.refuse("prompts", "strings", preview(text.dump()));
      prompts.texts[name] = text.is_null() ? "" : text.get<std::string>();
    }
  }
  if (fields.has("default_prompt_name")) {
    prompts.default_name = fields.string("default_prompt_name");
    const bool builtin = *prompts.default_name == "query" || *prompts.default_name == "document";
    if (builtin)
      prompts.texts.try_emplace(
          *prompts.default_name);  // sentence-transformers has these two, empty
    if (prompts.texts.count(*prompts.default_name) == 0) {
      fields.refuse("default_prompt_name", "a name in 'prompts'",
                    "'" + preview(*prompts.default_name) + "'");
    }
  }
  return prompts;
}

}  // namespace encode
