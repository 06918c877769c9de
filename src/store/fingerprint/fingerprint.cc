#include "store/fingerprint/fingerprint.h"

#include <fmt/format.h>
#include <limits>
#include <optional>

#include "encode/error.h"

#include "base/input_format.h"
#include "base/json_values.h"
#include "base/module_names.h"
#include "base/units.h"
#include "store/file_list.h"

namespace encode {
namespace {

constexpr const char* kVersionKey = "format";
constexpr const char* kPassagesKey = "passages";
// Old programs wrote "sentencepiece 0.1.97" here for a directory with a .model file. Today encode
// itself tokenizes for every model directory.
constexpr const char* kNoLibrary = "";
constexpr const char* kKeptKey = "kept_records";

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// The structured bindings below name every field. So if a field is added, this file does not
// compile until someone decides whether the field belongs to the fingerprint.

Json input_part(const Fingerprint& fingerprint) {
  const auto& [path, more_paths, field, text_template, passage_field, missing_field, format,
               bad_row, empty_row, utf8, max_row_bytes, limit_rows, filter] = fingerprint.input;
  Json json = {{"field", field},
               {"bad_row", name_of(kBadRowPolicies, bad_row)},
               {"empty_row", name_of(kEmptyRowPolicies, empty_row)},
               {"utf8", name_of(kUtf8Policies, utf8)},
               {"max_row_bytes", max_row_bytes},
               {"limit_rows", limit_rows}};
  // Options with their default are left out. So the fingerprint equals the fingerprint of versions
  // that did not have the option.
  if (!text_template.empty()) json["text"] = text_template;
  if (!passage_field.empty()) json["passage_field"] = passage_field;
  if (missing_field != MissingFieldPolicy::kError)
    json["missing_field"] = name_of(kMissingFieldPolicies, missing_field);
  if (filter.any()) json["where"] = filter.where;
  // The files of the other input are not in this fingerprint, so the records that they choose are.
  if (filter.reads_other_input()) json[kKeptKey] = fingerprint.kept_xxh3_128;
  if (fingerprint.input_list) {
    const FileList& list = *fingerprint.input_list;
    InputOptions of_file = fingerprint.input;
    of_file.path = list.first_path;
    json["format"] = name_of(kTextFormats, input_format(of_file).format);
    json["files"] = {{"count", list.files}, {"file_bytes", list.bytes}, {"sha256", list.sha256}};
    return json;
  }
  Json files = Json::array();
  for (const ScannedFile& file : fingerprint.input_files) {
    InputOptions of_file = fingerprint.input;
    of_file.path = file.path;
    const InputFormat effective = input_format(of_file);
    json["format"] = name_of(kTextFormats, effective.format);  // all files have the same format
    files.push_back({{"compression", name_of(effective.compression)},
                     {"file_bytes", file.bytes},
                     {"sha256", file.sha256}});
  }
  // The fields of a single file stand beside the options, because fingerprints of the time when an
  // input had only one file have them there.
  if (files.size() == 1) {
    json.update(files.front());
  } else {
    json["files"] = std::move(files);
  }
  return json;
}

Json model_part(const Fingerprint& fingerprint) {
  Json files = Json::object();
  for (const FileHash& file : fingerprint.model_files)
    files[file.name] = {{"bytes", file.bytes}, {"sha256", file.sha256}};
  return {{"files", std::move(files)}};
}

// Reads the text of a fingerprint. Throws Error kData "store.damaged" if it is not a JSON object.
Json parse(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  throw Error({.code = "store.damaged",
               .what = "a fingerprint is not a JSON object",
               .where = "fingerprint",
               .expected = "JSON that encode has written",
               .found = fmt::format("'{}'", preview(text)),
               .hint = "run encode again, with --fresh if the error comes again"});
}

Json pooling_names(const std::vector<PoolingMode>& modes) {
  return array_of(modes, [](PoolingMode mode) { return to_string(mode); });
}

Json module_json(const SentenceModule& module) {
  const auto& [kind, path, pooling, include_prompt, in_features, out_features, bias, residual,
               activation, tensors] = module;
  return {{"kind", name_of(kModuleKinds, kind)},
          {"pooling", pooling_names(pooling)},
          {"include_prompt", include_prompt},
          {"in_features", in_features},
          {"out_features", out_features},
          {"bias", bias},
          {"residual", residual},
          {"activation", name_of(kDenseActivations, activation)}};
}

Json passages_json(const PassageRule& rule, RowVector row_vector) {
  const auto& [max_tokens, overlap, by, vectors] = rule;
  Json json = {{"rule", PassageRule::kVersion},
               {"unicode", PassageRule::kUnicode},
               {"max_tokens", max_tokens},
               {"overlap", overlap},
               {"by", name_of(kPassageUnits, by)}};
  if (vectors != PassageVectors::kAlone) json["vectors"] = name_of(kPassageVectors, vectors);
  if (row_vector != RowVector::kNone) json["row_vector"] = name_of(kRowVectors, row_vector);
  return json;
}

Json result_part(const EffectiveResult& result) {
  const auto& [pooling, normalize, truncate_dim, modules, max_length, prompt, include_prompt, dtype,
               float32_matmul_precision, causal, dim, launch_tokens, vector_precision,
               late_interaction, tokenizer, ignore_custom_code, recipes, passages, row_vector] =
      result;
  // The recipe of the tokenizer is left out, because `recipes` names it.
  const auto& [special_tokens, tokenizer_recipe, lower_case_first] = tokenizer;
  Json json = {{"pooling", pooling_names(pooling)},
               {"normalize", normalize},
               {"truncate_dim", or_null(truncate_dim)},
               {"modules", array_of(modules, module_json)},
               {"max_length", max_length},
               {"prompt", prompt},
               {"include_prompt", include_prompt},
               {"dtype", to_string(dtype)},
               {"float32_matmul_precision", to_string(float32_matmul_precision)},
               {"causal", or_null(causal)},
               {"dim", dim},
               {"launch_tokens", launch_tokens}};
  // Options with their default are left out. So the fingerprint equals the fingerprint of versions
  // that did not have the option.
  if (vector_precision != VectorPrecision::kFloat32)
    json["vector_precision"] = to_string(vector_precision);
  if (late_interaction) {
    const auto& [marker, skip_words, unknown_token, drops_unknown_words] = *late_interaction;
    json["late_interaction"] = {
        {"marker", marker}, {"skip_words", skip_words}, {"unknown_token", unknown_token}};
    if (drops_unknown_words) json["late_interaction"]["drops_unknown_words"] = true;
  }
  if (special_tokens != SpecialTokensRule::kByClass)
    json["special_tokens"] = to_string(special_tokens);
  if (lower_case_first) json["lower_case_first"] = true;
  if (ignore_custom_code) json["ignore_custom_code"] = true;
  if (!recipes.empty()) json["recipes"] = recipes;
  if (passages) json[kPassagesKey] = passages_json(*passages, row_vector);
  return json;
}

// The functions below read what input_part() and result_part() write.

constexpr ErrorCode kDamaged = "store.damaged";
constexpr const char* kWhere = "fingerprint";
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

InputOptions input_options(const JsonFields& fields) {
  InputOptions input;
  input.field = fields.string("field");
  if (fields.has("text")) input.text_template = fields.string("text");
  if (fields.has("passage_field")) input.passage_field = fields.string("passage_field");
  if (fields.has("missing_field"))
    input.missing_field = named_value(fields, "missing_field", kMissingFieldPolicies);
  if (fields.has("where")) input.filter.where = fields.string("where");
  input.format = named_value(fields, "format", kTextFormats);
  input.bad_row = named_value(fields, "bad_row", kBadRowPolicies);
  input.empty_row = named_value(fields, "empty_row", kEmptyRowPolicies);
  input.utf8 = named_value(fields, "utf8", kUtf8Policies);
  input.max_row_bytes = fields.integer("max_row_bytes", 1, kMost);
  input.limit_rows = fields.integer("limit_rows", 0, kMost);
  return input;
}

PassageOptions passage_options(const JsonFields& fields) {
  PassageOptions passages = {.max_tokens = fields.integer("max_tokens", 1, kMost),
                             .overlap = fields.integer("overlap", 0, kMost),
                             .by = named_value(fields, "by", kPassageUnits)};
  if (fields.has("vectors")) passages.vectors = named_value(fields, "vectors", kPassageVectors);
  if (fields.has("row_vector"))
    passages.row_vector = named_value(fields, "row_vector", kRowVectors);
  return passages;
}

ResultOptions result_options(const JsonFields& fields) {
  ResultOptions result;
  const Json& pooling = fields.array("pooling");
  if (pooling.size() == 1 && pooling[0].is_string())
    result.pooling = parse_pooling_mode(pooling[0].get<std::string>(), kWhere);
  if (fields.has("truncate_dim")) result.truncate_dim = fields.integer("truncate_dim", 1, kMost);
  result.max_length = fields.integer("max_length", 1, kMost);
  result.prompt = fields.string("prompt");
  if (fields.has("causal")) result.causal = fields.boolean_or("causal", false);
  result.dtype = named_value(fields, "dtype", kComputeTypes);
  result.float32_matmul_precision =
      named_value(fields, "float32_matmul_precision", kMatmulPrecisions);
  if (fields.has("vector_precision"))
    result.vector_precision = named_value(fields, "vector_precision", kVectorPrecisions);
  if (fields.has("special_tokens"))
    result.special_tokens = named_value(fields, "special_tokens", kSpecialTokensRules);
  result.ignore_custom_code = fields.boolean_or("ignore_custom_code", false);
  if (fields.has(kPassagesKey))
    result.passages = passage_options(JsonFields(fields.object(kPassagesKey), kWhere, kDamaged));
  return result;
}

}  // namespace

std::string to_text(const Fingerprint& fingerprint) {
  return Json{{kVersionKey, Fingerprint::kVersion},
              {"input", input_part(fingerprint)},
              {"model", model_part(fingerprint)},
              {"result", result_part(fingerprint.result)},
              {"tokenizer_library", kNoLibrary}}
      .dump();
}

RecordedOptions recorded_options(const std::string& text) {
  try {
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    const JsonFields fields(json, kWhere, kDamaged);
    fields.integer("format", Fingerprint::kVersion, Fingerprint::kVersion);
    const std::string where = kWhere;
    return {.input = input_options(JsonFields(fields.object("input"), where + ", input", kDamaged)),
            .result =
                result_options(JsonFields(fields.object("result"), where + ", result", kDamaged))};
  } catch (const Error& error) {
    ErrorDetail detail = error.detail();
    detail.exit_code = ExitCode::kData;
    detail.code = kDamaged;
    throw Error(std::move(detail));
  }
}

std::string combined_fingerprint(const std::vector<CombinedPart>& parts) {
  Json described = Json::array();
  for (const CombinedPart& part : parts) {
    described.push_back({{"name", part.identity.name},
                         {"dim", part.identity.dim},
                         {"xxh3_128", part.xxh3_128},
                         {"fingerprint", parse(part.identity.fingerprint)}});
  }
  return Json{{"combined", std::move(described)}}.dump();
}

std::string without_input(const std::string& text) {
  Json json = parse(text);
  json.erase("input");
  return json.dump();
}

std::string of_sequences(const std::string& text) {
  Json json = parse(text);
  json.erase("input");
  if (json.contains("result")) json["result"].erase(kPassagesKey);
  return json.dump();
}

std::string with_rows(const std::string& text, const std::string& blocks) {
  Json json = parse(text);
  Json& input = json["input"];
  for (const char* key : {"compression", "file_bytes", "sha256", "files", kKeptKey})
    input.erase(key);
  input["blocks"] = blocks;
  return json.dump();
}

bool has_input(const std::string& text, const InputOptions& input, const ScannedFiles& files) {
  Fingerprint fingerprint;
  fingerprint.input = input;
  if (std::ssize(files) > kMostUnlistedFiles) {
    fingerprint.input_list = list_of(input, files);
  } else {
    fingerprint.input_files = files;
  }
  Json recorded = parse(text).value("input", Json());
  Json wanted = input_part(fingerprint);
  wanted.erase(kKeptKey);
  if (input.filter.reads_other_input()) recorded.erase(kKeptKey);
  return recorded == wanted;
}

bool says_filtered(const std::string& text) {
  return parse(text).contains(Json::json_pointer("/input/where"));
}

bool says_filtered_elsewhere(const std::string& text) {
  return parse(text).contains(Json::json_pointer("/input") / kKeptKey);
}

std::vector<int64_t> input_sizes(const std::string& text) {
  const Json json = parse(text);
  const Json::json_pointer several("/input/files");
  const Json::json_pointer single("/input");
  Json files = json.contains(several) ? json.at(several) : Json::array();
  if (files.is_object()) return {};
  if (files.empty() && json.contains(single)) files.push_back(json.at(single));
  std::vector<int64_t> sizes;
  for (const Json& file : files) {
    if (file.contains("file_bytes") && file.at("file_bytes").is_number_integer())
      sizes.push_back(file.at("file_bytes").get<int64_t>());
  }
  return sizes;
}

bool says_normalized(const std::string& text) {
  const Json json = parse(text);
  for (const char* place : {"/result/normalize", "/result/effective/normalize"}) {
    const Json::json_pointer pointer(place);
    if (json.contains(pointer) && json.at(pointer).is_boolean())
      return json.at(pointer).get<bool>();
  }
  return false;
}

bool says_custom_code_ignored(const std::string& text) {
  const Json json = parse(text);
  const Json::json_pointer pointer("/result/ignore_custom_code");
  return json.contains(pointer) && json.at(pointer) == true;
}

int64_t version_of(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool stated =
      json.is_object() && json.contains(kVersionKey) && json[kVersionKey].is_number_integer();
  return stated ? json[kVersionKey].get<int64_t>() : 0;
}

}  // namespace encode
