#include "model_dir/transformer_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <utility>

#include "encode/error.h"

#include "base/json.h"
#include "base/units.h"
#include "model_dir/limits.h"
#include "model_dir/model_sizes.h"
#include "model_dir/supported_architectures.h"

namespace encode {
namespace {

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns the name that config.json has for a size: a name that this architecture uses, or
// otherwise a name that another architecture uses.
std::string name_of(FieldNames SizeFields::*size, const Traits& traits, const JsonFields& fields) {
  const auto stated = [&](const SizeFields& names) {
    const auto* const found = std::ranges::find_if(
        names.*size, [&](const char* name) { return name != nullptr && fields.has(name); });
    return found != (names.*size).end() ? *found : nullptr;
  };
  if (const char* name = stated(traits.fields)) return name;
  for (const ArchitectureEntry& entry : kArchitectures) {
    if (const char* name = stated(entry.traits.fields)) return name;
  }
  return (SizeFields().*size)[0];
}

int64_t position_limit(const JsonFields& fields, const Traits& traits, int64_t positions) {
  const PositionTable table = positions_of(traits, fields).table;
  if (positions == 0 || table == PositionTable::kNone) return 0;
  if (table == PositionTable::kFromZero) return positions;
  const int64_t padding_idx = fields.integer_or("pad_token_id", 1, 0, kMaxVocabSize);
  const int64_t limit = positions - padding_idx - 1;
  if (limit < 1) {
    fields.refuse("max_position_embeddings",
                  fmt::format("more than pad_token_id + 1 = {}", padding_idx + 1),
                  fmt::to_string(positions));
  }
  return limit;
}

// Returns the first of `architectures`, or "".
std::string first_class(const JsonFields& fields) {
  if (!fields.has("architectures")) return "";
  const Json& architectures = fields.array("architectures");
  if (architectures.empty() || !architectures[0].is_string()) return "";
  return architectures[0].get<std::string>();
}

bool is_causal_lm(const JsonFields& fields) {
  static constexpr std::string_view kCausalLm = "ForCausalLM";
  const std::string name = first_class(fields);
  const bool causal_lm =
      name.size() >= kCausalLm.size() &&
      name.compare(name.size() - kCausalLm.size(), kCausalLm.size(), kCausalLm) == 0;
  return causal_lm && fields.boolean_or("is_causal", true);
}

// Returns the model_type of the classes in `architectures`, for a config.json that states none.
std::string type_of_architectures(const JsonFields& fields) {
  std::set<std::string_view> types;
  if (!fields.has("architectures")) fields.string("model_type");  // throws, because it is missing
  const Json& architectures = fields.array("architectures");
  for (const Json& name : architectures) {
    types.insert(name.is_string() ? model_type_of_class(name.get_ref<const std::string&>())
                                  : std::string_view());
  }
  if (types.size() == 1 && !types.begin()->empty()) return std::string(*types.begin());
  fields.refuse_variant(
      "architectures",
      "classes of one architecture that encode knows, because there is no model_type");
}

Error unsupported(const std::string& key, const std::string& where, std::string expected,
                  const Json& found) {
  return Error({.code = "model.unsupported",
                .what = fmt::format("the model has a setting that is not supported: '{}'", key),
                .where = where,
                .expected = std::move(expected),
                .found = preview(found.dump()),
                .hint = "without the setting the embeddings would be different; encode with "
                        "sentence-transformers"});
}

// Refuses settings of the Transformer module that have another value than the supported one.
void require_plain_text_encoder(const Json& config, const std::string& where, bool multi_vector) {
  const auto require = [&](const char* key, const Json& value) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null() || *found == value) return;
    throw unsupported(key, where, value.dump(), *found);
  };
  require("transformer_task", "feature-extraction");
  require("module_output_name", "token_embeddings");
  require("processing_kwargs", Json::object());
  require("tokenizer_name_or_path", nullptr);
  // The lengths of queries do not matter for documents.
  for (const char* key : {"query_length", "document_length", "query_expansion"}) {
    if (!multi_vector) require(key, nullptr);
  }
  const auto modalities = config.find("modality_config");
  if (modalities == config.end() || modalities->is_null()) return;
  const Json text = {{"method", "forward"}, {"method_output_name", "last_hidden_state"}};
  const auto found = modalities->is_object() ? modalities->find("text") : modalities->end();
  if (found == modalities->end() || *found != text) {
    throw unsupported("modality_config", where, fmt::format(R"({{"text": {}}})", text.dump()),
                      *modalities);
  }
}

// Refuses arguments for Python constructors, except those that do not change the numbers here, such
// as the device and the attention kernel.
void require_harmless_arguments(const Json& config, const std::string& where) {
  static constexpr std::array<std::string_view, 8> kHarmless = {
      "trust_remote_code", "torch_dtype",       "dtype",        "attn_implementation",
      "device_map",        "low_cpu_mem_usage", "padding_side", "use_fast"};
  for (const char* key : {"model_args", "model_kwargs", "tokenizer_args", "processor_kwargs",
                          "config_args", "config_kwargs"}) {
    const auto arguments = config.find(key);
    if (arguments == config.end() || arguments->is_null()) continue;
    if (!arguments->is_object()) throw unsupported(key, where, "an object", *arguments);
    for (const auto& [name, value] : arguments->items()) {
      if (!contains(kHarmless, name))
        throw unsupported(fmt::format("{}.{}", key, preview(name)), where, "absent", value);
    }
  }
}

void require_known_keys(const Json& config, const std::string& where) {
  static constexpr std::array<std::string_view, 18> kKnown = {
      "max_seq_length",     "do_lower_case",     "transformer_task",
      "module_output_name", "processing_kwargs", "tokenizer_name_or_path",
      "query_length",       "document_length",   "query_expansion",
      "modality_config",    "model_args",        "model_kwargs",
      "tokenizer_args",     "processor_kwargs",  "config_args",
      "config_kwargs",      "unpad_inputs",      "backend"};
  for (const auto& [key, value] : config.items()) {
    if (!contains(kKnown, key))
      throw unsupported(preview(key), where, "a key of sentence-transformers 6", value);
  }
}

}  // namespace

TransformerConfig read_transformer_config(const ModelFolder& folder) {
  if (folder.has(kAdapterFile)) {
    throw Error({.code = "model.unsupported",
                 .what = "the directory has a PEFT adapter, not a whole model",
                 .where = folder.path_of(kAdapterFile),
                 .expected = "a model with all its weights",
                 .found = kAdapterFile,
                 .hint = "merge the adapter with PEFT's merge_and_unload() and save the result"});
  }
  const std::string where = folder.path_of(kConfigFile);
  TransformerConfig config;
  config.text = folder.read_text(kConfigFile, kConfigJson.max_bytes, "model.config");
  Json json = parse_json(config.text, kConfigJson, where, "model.config");
  const JsonFields whole(json, where, "model.config");
  if (!whole.has("model_type")) {
    json["model_type"] = type_of_architectures(whole);
    config.warnings.push_back(
        fmt::format("{} has no model_type: encode takes '{}', because the first of its "
                    "architectures is {}",
                    where, json["model_type"].get<std::string>(), json["architectures"][0].dump()));
    config.text = json.dump();
  }
  config.model_type = whole.string("model_type");
  // An architecture without an entry is refused later, with a list of the entries.
  const ArchitectureEntry* entry = find_architecture(config.model_type);
  const Traits traits = entry != nullptr ? entry->traits : Traits();
  const JsonFields fields = text_config(traits, whole);
  config.hidden_size =
      fields.integer(name_of(&SizeFields::hidden_size, traits, fields), 1, kMaxHiddenSize);
  config.vocab_size = fields.integer("vocab_size", 1, kMaxVocabSize);
  fields.integer_or(name_of(&SizeFields::layers, traits, fields), 1, 1, kMaxLayers);
  config.max_position_embeddings = max_positions_of(traits, fields);
  config.position_limit = position_limit(fields, traits, config.max_position_embeddings);
  config.causal_lm = is_causal_lm(whole);
  config.stanford_colbert = first_class(whole) == "HF_ColBERT";
  return config;
}

SentenceBertConfig read_sentence_bert_config(const ModelFolder& folder, bool multi_vector) {
  SentenceBertConfig result;
  for (const char* name : kSentenceConfigFiles) {
    if (!folder.has(name)) continue;
    const Json config = folder.read_json(name, kConfigJson, "model.sentence_bert_config");
    const std::string where = folder.path_of(name);
    const JsonFields fields(config, where, "model.sentence_bert_config");
    if (config.empty()) continue;
    require_known_keys(config, where);
    require_plain_text_encoder(config, where, multi_vector);
    require_harmless_arguments(config, where);
    result.do_lower_case = fields.boolean_or("do_lower_case", false);
    if (fields.has("max_seq_length"))
      result.max_seq_length = fields.integer("max_seq_length", 1, kMaxPositions);
    if (fields.has("document_length"))
      result.document_length = fields.integer("document_length", 1, kMaxPositions);
    return result;
  }
  return result;
}

std::optional<int64_t> read_model_max_length(const ModelFolder& folder) {
  if (!folder.has(kTokenizerConfigFile)) return std::nullopt;
  const Json config = folder.read_json(kTokenizerConfigFile, kConfigJson, "model.tokenizer_config");
  const JsonFields fields(config, folder.path_of(kTokenizerConfigFile), "model.tokenizer_config");
  if (!fields.has("model_max_length")) return std::nullopt;
  const double value = fields.number("model_max_length", 1, 1e31);
  if (value > static_cast<double>(kMaxPositions)) return std::nullopt;
  if (value != std::floor(value))
    fields.refuse("model_max_length", "a whole number", fmt::format("{:f}", value));
  return static_cast<int64_t>(value);
}

std::string read_unknown_token(const ModelFolder& folder) {
  if (!folder.has(kTokenizerConfigFile)) return "";
  const Json config = folder.read_json(kTokenizerConfigFile, kConfigJson, "model.tokenizer_config");
  const JsonFields fields(config, folder.path_of(kTokenizerConfigFile), "model.tokenizer_config");
  if (!fields.has("unk_token")) return "";
  const Json& token = config.at("unk_token");
  if (token.is_string()) return token.get<std::string>();
  if (token.is_object() && token.contains("content") && token.at("content").is_string())
    return token.at("content").get<std::string>();
  fields.refuse("unk_token", "a string, or an object with a 'content'", preview(token.dump()));
}

}  // namespace encode
