#include "run_plan/shard_settings.h"

#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string_view>
#include <vector>

#include "encode/scanned_files.h"

#include "base/hash.h"
#include "base/input_format.h"
#include "base/names.h"

namespace encode {
namespace {

using Settings = std::map<std::string, std::string>;

std::string last_part(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

template <typename T>
std::string in_words(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

// The structured bindings name every field. So if a field is added, this file does not compile
// until someone decides whether shards must agree on it.

void add_input(const std::string& stream, const InputOptions& input, Settings& settings) {
  const auto& [path, more_paths, field, text_template, passage_field, missing_field, format,
               bad_row, empty_row, utf8, max_row_bytes, limit_rows, filter] = input;
  std::vector<std::string> files = {last_part(path)};
  for (const std::string& more : more_paths) files.push_back(last_part(more));
  std::string names = fmt::format("{}", fmt::join(files, ", "));
  // The plan does not grow with the number of files.
  if (std::ssize(files) > kMostUnlistedFiles)
    names = fmt::format("{} and {} more ({})", files.front(), more_paths.size(), xxh3_hex(names));
  const auto set = [&](const char* name, std::string_view value) {
    settings[fmt::format("{}: {}", stream, name)] = value;
  };
  set("input", names);
  set("field", field);
  // Plans of versions that did not have these options do not have these settings.
  if (!text_template.empty()) set("text", text_template);
  if (!passage_field.empty()) set("passages.field", passage_field);
  if (missing_field != MissingFieldPolicy::kError)
    set("missing_field", name_of(kMissingFieldPolicies, missing_field));
  if (filter.any()) set("where", filter.where);
  set("format", name_of(kTextFormats, format));
  set("bad_row", name_of(kBadRowPolicies, bad_row));
  set("empty_row", name_of(kEmptyRowPolicies, empty_row));
  set("utf8", name_of(kUtf8Policies, utf8));
  set("max_row_bytes", fmt::to_string(max_row_bytes));
  set("limit_rows", fmt::to_string(limit_rows));
}

void add_result(const std::string& stream, const ResultOptions& result, Settings& settings) {
  const auto& [model, revision, pooling, normalize, truncate_dim, max_length, prompt, prompt_name,
               causal, dtype, float32_matmul_precision, vector_precision, special_tokens,
               ignore_custom_code, passages] = result;
  const auto set = [&](const char* name, std::string_view value) {
    settings[fmt::format("{}: {}", stream, name)] = value;
  };
  set("model", last_part(model));
  set("revision", in_words(revision));
  set("pooling", pooling ? to_string(*pooling) : "");
  set("normalize", in_words(normalize));
  set("truncate_dim", in_words(truncate_dim));
  set("max_length", in_words(max_length));
  set("prompt", in_words(prompt));
  set("prompt_name", in_words(prompt_name));
  set("causal", in_words(causal));
  set("dtype", name_of(kComputeTypes, dtype));
  set("float32_matmul_precision", name_of(kMatmulPrecisions, float32_matmul_precision));
  set("vector_precision", name_of(kVectorPrecisions, vector_precision));
  set("special_tokens", name_of(kSpecialTokensRules, special_tokens));
  set("ignore_custom_code", fmt::to_string(ignore_custom_code));
  if (!passages.cuts()) return;
  const auto& [max_tokens, overlap, by, vectors, row_vector, none] = passages;
  static_cast<void>(none);  // it is false if the rows are cut
  set("passages.max_tokens", in_words(max_tokens));
  set("passages.overlap", fmt::to_string(overlap));
  set("passages.by", by ? name_of(kPassageUnits, *by) : "");
  set("passages.vectors", name_of(kPassageVectors, vectors));
  set("passages.row_vector", name_of(kRowVectors, row_vector));
}

}  // namespace

Settings settings_of_shards(const RunConfig& config) {
  Settings settings;
  std::vector<std::string> names;
  for (const StreamConfig& stream : config.streams) {
    names.push_back(stream.name());
    add_input(names.back(), stream.input, settings);
    add_result(names.back(), stream.result, settings);
  }
  settings["streams"] = fmt::format("{}", fmt::join(names, ", "));
  std::vector<std::string> combined;
  for (const CombineConfig& combine : config.combine)
    combined.push_back(fmt::format("{} of {}", combine.split, fmt::join(combine.streams, " and ")));
  settings["combine"] = fmt::format("{}", fmt::join(combined, ", "));
  const FinalFormat& format = config.store.final_format;
  settings["output"] = config.store.output;
  settings["output format"] = describe(format);
  settings["quantization_ranges"] = format.ranges_file.empty() ? "" : xxh3_file(format.ranges_file);
  settings["quarantine"] = to_string(config.store.quarantine);
  return settings;
}

}  // namespace encode
