#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"
#include "config/load.h"
#include "config/reference.h"
#include "config/schema.h"

namespace encode {
namespace {

Json to_json(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* names = std::get_if<std::vector<std::string>>(&value)) return *names;
  return {};
}

Json names_schema(const ValueSpec& spec) {
  const Json name = {{"type", "string"}, {"pattern", spec.pattern}};
  const Json list = {{"type", "array"},
                     {"items", name},
                     {"minItems", spec.min},
                     {"maxItems", spec.max},
                     {"uniqueItems", !spec.repeats}};
  return spec.lone ? Json{{"anyOf", {name, list}}} : list;
}

Json type_schema(const ValueSpec& spec) {
  switch (spec.type) {
    case ValueType::kInteger:
      if (!spec.choices.empty()) {
        const ValueSpec number = {.type = spec.type, .min = spec.min, .max = spec.max};
        return {{"anyOf", {type_schema(number), {{"type", "string"}, {"enum", spec.choices}}}}};
      }
      return {{"type", "integer"}, {"minimum", spec.min}, {"maximum", spec.max}};
    case ValueType::kBoolean:
      return {{"type", "boolean"}};
    case ValueType::kChoice:
      return {{"type", "string"}, {"enum", spec.choices}};
    case ValueType::kNames:
      return names_schema(spec);
    case ValueType::kSize:
      return {{"type", "string"}, {"pattern", "^[0-9.]+ ?([kMGT]?B|[KMGT]iB)$"}};
    case ValueType::kPaths: {
      const Json path = {{"type", "string"}, {"minLength", spec.min}, {"maxLength", spec.max}};
      return {{"anyOf", {path, {{"type", "array"}, {"items", path}, {"minItems", 1}}}}};
    }
    case ValueType::kText:
      break;
  }
  Json schema = {{"type", "string"}, {"minLength", spec.min}, {"maxLength", spec.max}};
  if (!spec.pattern.empty()) schema["pattern"] = spec.pattern;
  return schema;
}

Json leaf_schema(const KeySpec& key) {
  Json schema = type_schema(key.value);
  if (key.value.nullable) {
    schema["type"] = {schema["type"], "null"};
    if (schema.contains("enum")) schema["enum"].push_back(nullptr);
  }
  schema["description"] = key.help;
  if (key.default_text) schema["default"] = to_json(key.default_value());
  return schema;
}

Json node_schema(const SchemaNode& node) {
  if (node.key != nullptr) return leaf_schema(*node.key);
  Json schema = {{"type", "object"}};
  if (!node.help.empty()) schema["description"] = node.help;
  if (const SchemaNode* any = node.wildcard()) {
    schema["propertyNames"] = {{"pattern", kNamePattern}, {"maxLength", 100}};
    schema["additionalProperties"] = node_schema(*any);
    return schema;
  }
  schema["additionalProperties"] = false;
  for (const SchemaNode& child : node.children) {
    schema["properties"][child.name] = node_schema(child);
    if (child.key != nullptr && !child.key->alias.empty()) {
      schema["properties"][child.key->alias] = node_schema(child);
    }
  }
  const SchemaNode* plain = node.short_for();
  if (plain == nullptr) return schema;
  if (node.path == kSplitStreams) schema["required"] = {"file"};
  return {{"description", node.help}, {"anyOf", {node_schema(*plain), schema}}};
}

std::string value_cell(const ValueSpec& spec) {
  switch (spec.type) {
    case ValueType::kInteger:
      return fmt::format("integer, {} to {}{}{}", spec.min, spec.max,
                         spec.choices.empty() ? "" : ", or ", fmt::join(spec.choices, ", "));
    case ValueType::kBoolean:
      return "true or false";
    case ValueType::kText:
      return spec.pattern.empty() ? "text" : spec.pattern_words;
    default:
      return describe({.type = spec.type,
                       .min = spec.min,
                       .max = spec.max,
                       .choices = spec.choices,
                       .pattern_words = spec.pattern_words,
                       .example = spec.example});
  }
}

std::string code(const std::string& text) { return fmt::format("`{}`", text); }

std::string row(const KeySpec& key) {
  const std::string alias = key.alias.empty() ? "" : fmt::format(", alias `{}`", key.alias);
  const std::string fallback =
      key.default_text ? code(to_yaml(key.default_value())) : key.default_note;
  std::string flags = key.no_flag;
  for (const KeyFlag& flag : key.flags) flags += (flags.empty() ? "" : ", ") + code(flag.name);
  return fmt::format("| `{}`{} | {} | {} | {} | {} |\n", key.name, alias, flags,
                     value_cell(key.value), fallback, key.help);
}

}  // namespace

std::string config_json_schema() {
  Json schema = node_schema(config_schema());
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "encode: configuration of a run";
  return schema.dump(2) + "\n";
}

std::string config_reference() {
  std::string text;
  std::string heading;
  for (const KeySpec& key : config_keys()) {
    const std::string sections = fmt::format("`{}`", fmt::join(key.sections, "`, `"));
    if (sections != heading) {
      text += fmt::format("{}### {}\n\n", text.empty() ? "" : "\n", sections);
      text +=
          "| key | flag, or why there is none | value | default | meaning "
          "|\n|---|---|---|---|---|\n";
      heading = sections;
    }
    text += row(key);
  }
  return text;
}

Json config_reference_json() {
  Json keys = Json::array();
  for (const KeySpec& key : config_keys()) {
    Json flags = Json::array();
    for (const KeyFlag& flag : key.flags) flags.push_back(flag.name);
    keys.push_back({{"sections", key.sections},
                    {"name", key.name},
                    {"alias", key.alias},
                    {"flags", flags},
                    {"no_flag", key.no_flag},
                    {"value", value_cell(key.value)},
                    {"default", key.default_text ? to_json(key.default_value()) : Json()},
                    {"default_note", key.default_note},
                    {"help", key.help}});
  }
  return keys;
}

}  // namespace encode
