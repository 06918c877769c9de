#include "config/value.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <regex>

#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"

namespace encode {
namespace {

// The limit for a text that is matched with a pattern. A longer text is refused, because std::regex
// recurses once for each character. All valid values are short.
constexpr size_t kMaxMatched = 256;

bool matches(const std::string& text, const std::regex& pattern) {
  return text.size() <= kMaxMatched && std::regex_match(text, pattern);
}

// Returns the type that YAML gives to `text` if it is not quoted: "integer", "number", "boolean",
// "null", or "" for a text.
std::string plain_meaning(const std::string& text) {
  static const std::regex null("~|null|Null|NULL|");
  static const std::regex boolean("true|True|TRUE|false|False|FALSE");
  static const std::regex integer("[-+]?[0-9][0-9_]*|0x[0-9a-fA-F]+|0o[0-7]+");
  static const std::regex number(
      "[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\\.(inf|Inf|INF)|\\.(nan|NaN|"
      "NAN)");
  if (matches(text, null)) return "null";
  if (matches(text, boolean)) return "boolean";
  if (matches(text, integer)) return "integer";
  return matches(text, number) ? "number" : "";
}

struct ValueRefusal {
  ErrorCode code;
  const char* what;
  std::string hint;
};

[[noreturn]] void refuse(const ValueSpec& spec, const YamlNode& node, const ValueSource& source,
                         ValueRefusal refusal) {
  throw Error({.code = refusal.code,
               .exit_code = source.exit_code,
               .what = source.key + refusal.what,
               .where = source.where,
               .expected = describe(spec),
               .found = describe(node),
               .hint = std::move(refusal.hint)});
}

[[noreturn]] void refuse_type(const ValueSpec& spec, const YamlNode& node,
                              const ValueSource& source, std::string hint) {
  refuse(spec, node, source,
         {.code = "config.type", .what = " has the wrong type", .hint = std::move(hint)});
}

[[noreturn]] void refuse_value(const ValueSpec& spec, const YamlNode& node,
                               const ValueSource& source, std::string hint) {
  refuse(
      spec, node, source,
      {.code = "config.value", .what = " has a value that is not valid", .hint = std::move(hint)});
}

std::string did_you_mean(const std::string& text, const ValueSpec& spec) {
  const std::string word = lower_case(text);
  const auto synonym = spec.synonyms.find(word);
  const std::string best = synonym != spec.synonyms.end()
                               ? synonym->second
                               : nearest(word, spec.choices.data(), spec.choices.size());
  return best.empty() ? "use one of the expected values" : fmt::format("did you mean '{}'?", best);
}

Value parse_text(const ValueSpec& spec, const YamlNode& node, const ValueSource& source) {
  if (!node.quoted && !plain_meaning(node.text).empty()) {
    refuse_type(spec, node, source,
                fmt::format("put the text in quotes: \"{}\"", preview(node.text)));
  }
  const auto size = static_cast<int64_t>(node.text.size());
  if (size < spec.min) refuse_value(spec, node, source, "leave the key out, or give it a value");
  if (size > spec.max)
    refuse_value(spec, node, source, fmt::format("shorten the text to {} bytes", spec.max));
  if (node.text.find('\0') != std::string::npos) {
    refuse_value(spec, node, source, "remove the NUL character from the text");
  }
  if (!spec.pattern.empty() && !matches(node.text, std::regex(spec.pattern))) {
    refuse_value(spec, node, source, did_you_mean(node.text, spec));
  }
  return node.text;
}

Value parse_integer(const ValueSpec& spec, const YamlNode& node, const ValueSource& source) {
  static const std::regex decimal("-?(0|[1-9][0-9]*)");
  const bool word =
      std::find(spec.choices.begin(), spec.choices.end(), node.text) != spec.choices.end();
  if (word && !node.quoted) return node.text;
  if (node.quoted) {
    refuse_type(spec, node, source,
                word || matches(node.text, decimal)
                    ? fmt::format("write {} without quotes", node.text)
                    : "write an integer without quotes");
  }
  if (!matches(node.text, decimal)) {
    std::string digits = node.text;
    std::erase_if(digits, [](char c) { return c == '_' || c == ','; });
    const bool grouped = digits != node.text && matches(digits, decimal);
    const std::string near = nearest(node.text, spec.choices.data(), spec.choices.size());
    if (!near.empty()) refuse_type(spec, node, source, fmt::format("did you mean '{}'?", near));
    refuse_type(spec, node, source, grouped ? "write " + digits : "write decimal digits only");
  }
  int64_t value = 0;
  const char* end = node.text.data() + node.text.size();
  const std::from_chars_result result = std::from_chars(node.text.data(), end, value);
  const bool overflow = result.ec != std::errc();
  const bool too_small = overflow ? node.text.starts_with('-') : value < spec.min;
  if (too_small)
    refuse_value(spec, node, source, fmt::format("set {} to {} or more", source.key, spec.min));
  if (overflow || value > spec.max)
    refuse_value(spec, node, source, fmt::format("set {} to {} or less", source.key, spec.max));
  return value;
}

// Returns the number with each usual unit that makes it a size in the range of the spec.
std::vector<std::string> with_units(const ValueSpec& spec, const std::string& number) {
  std::vector<std::string> sizes;
  for (const char* unit : {"B", "MB", "GB", "GiB"}) {
    const std::optional<int64_t> bytes = parse_bytes(number + unit);
    if (bytes && *bytes >= spec.min && *bytes <= spec.max) sizes.push_back(preview(number) + unit);
  }
  return sizes;
}

// A number without a unit is refused, because in other programs it may mean bytes, kilobytes or
// gigabytes.
Value parse_size(const ValueSpec& spec, const YamlNode& node, const ValueSource& source) {
  const std::optional<int64_t> bytes = parse_bytes(node.text);
  const std::vector<std::string> sizes =
      bytes ? std::vector<std::string>() : with_units(spec, node.text);
  if (!sizes.empty()) refuse_value(spec, node, source, "add a unit: " + list_in_words(sizes, "or"));
  if (!bytes) refuse_value(spec, node, source, "write a number and a unit, as in 600MB or 4GiB");
  if (*bytes < spec.min)
    refuse_value(spec, node, source,
                 fmt::format("set {} to {} or more", source.key, format_bytes(spec.min)));
  if (*bytes > spec.max)
    refuse_value(spec, node, source,
                 fmt::format("set {} to {} or less", source.key, format_bytes(spec.max)));
  return node.text;
}

Value parse_boolean(const ValueSpec& spec, const YamlNode& node, const ValueSource& source) {
  static const std::regex yes("[Tt]rue|TRUE|[Yy](es)?|YES|[Oo]n|ON|1");
  static const std::regex no("[Ff]alse|FALSE|[Nn]o?|NO|[Oo]ff|OFF|0");
  if (!node.quoted && node.text == "true") return true;
  if (!node.quoted && node.text == "false") return false;
  std::string hint = matches(node.text, yes) ? "write true" : "write true or false";
  if (matches(node.text, no)) hint = "write false";
  refuse_type(spec, node, source, node.quoted ? hint + " without quotes" : hint);
}

Value parse_choice(const ValueSpec& spec, const YamlNode& node, const ValueSource& source) {
  if (std::find(spec.choices.begin(), spec.choices.end(), node.text) == spec.choices.end()) {
    refuse_value(spec, node, source, did_you_mean(node.text, spec));
  }
  return node.text;
}

std::string name_in(const ValueSpec& spec, const YamlNode& item, const ValueSource& source) {
  if (item.kind != YamlNode::Kind::kScalar)
    refuse_type(spec, item, source, "write names only: " + spec.example);
  if (!matches(item.text, std::regex(spec.pattern)))
    refuse_value(spec, item, source, "write names such as " + spec.example);
  return item.text;
}

Value parse_names(const ValueSpec& spec, const YamlNode& node, const ValueSource& source) {
  if (spec.lone && node.kind == YamlNode::Kind::kScalar)
    return std::vector<std::string>{name_in(spec, node, source)};
  if (node.kind != YamlNode::Kind::kList)
    refuse_type(spec, node, source, "write a list: " + spec.example);
  std::vector<std::string> names;
  for (const YamlNode& item : node.items) {
    std::string name = name_in(spec, item, source);
    if (!spec.repeats && std::find(names.begin(), names.end(), name) != names.end())
      refuse_value(spec, item, source, "write each name once");
    names.push_back(std::move(name));
  }
  const auto count = static_cast<int64_t>(names.size());
  if (count < spec.min || count > spec.max) {
    refuse_value(spec, node, source, fmt::format("write {} to {} names", spec.min, spec.max));
  }
  return names;
}

Value parse_paths(const ValueSpec& spec, const YamlNode& node, const ValueSource& source) {
  const auto path_in = [&](const YamlNode& item) {
    if (item.kind != YamlNode::Kind::kScalar)
      refuse_type(spec, item, source, "write one path, or a list of paths: [a.jsonl, b.jsonl]");
    return std::get<std::string>(parse_text(spec, item, source));
  };
  if (node.kind != YamlNode::Kind::kList) return path_in(node);
  std::vector<std::string> paths;
  for (const YamlNode& item : node.items) paths.push_back(path_in(item));
  if (!paths.empty()) return paths;
  refuse_value(spec, node, source, "write at least one path");
}

YamlNode scalar(std::string text, bool quoted) {
  return {.kind = YamlNode::Kind::kScalar,
          .mark = {},
          .text = std::move(text),
          .quoted = quoted,
          .items = {},
          .entries = {}};
}

}  // namespace

Value parse_value(const ValueSpec& spec, const YamlNode& node, const ValueSource& source) {
  if (node.kind == YamlNode::Kind::kNull) {
    if (spec.nullable) return std::monostate();
    refuse_type(spec, node, source, "give the key a value, or leave it out for the default");
  }
  if (spec.type == ValueType::kNames) return parse_names(spec, node, source);
  if (spec.type == ValueType::kPaths) return parse_paths(spec, node, source);
  if (node.kind != YamlNode::Kind::kScalar) {
    refuse_type(spec, node, source, "write one value, and not a list or a map");
  }
  switch (spec.type) {
    case ValueType::kInteger:
      return parse_integer(spec, node, source);
    case ValueType::kBoolean:
      return parse_boolean(spec, node, source);
    case ValueType::kChoice:
      return parse_choice(spec, node, source);
    case ValueType::kSize:
      return parse_size(spec, node, source);
    default:
      return parse_text(spec, node, source);
  }
}

Value parse_value(const ValueSpec& spec, const std::string& text, const ValueSource& source) {
  if (!is_valid_utf8(text)) {
    throw Error({.code = "config.value",
                 .exit_code = source.exit_code,
                 .what = source.key + " is not UTF-8",
                 .where = source.where,
                 .expected = "UTF-8",
                 .found = fmt::format("'{}'", preview(text)),
                 .hint = "rename the file, or type the text in a UTF-8 terminal"});
  }
  if (spec.type == ValueType::kText || spec.type == ValueType::kPaths)
    return parse_value(spec, scalar(text, true), source);
  if (spec.type == ValueType::kNames) {
    YamlNode list;
    list.kind = YamlNode::Kind::kList;
    static const std::regex separators("[\\[\\], ]+");
    const std::sregex_token_iterator end;
    for (std::sregex_token_iterator name(text.begin(), text.end(), separators, -1); name != end;
         ++name) {
      if (name->length() > 0) list.items.push_back(scalar(name->str(), true));
    }
    return parse_value(spec, list, source);
  }
  YamlNode node = scalar(text, false);
  if (text == "null") node.kind = YamlNode::Kind::kNull;
  return parse_value(spec, node, source);
}

std::string quote_if_needed(const std::string& text) {
  static const std::regex simple("[A-Za-z0-9_./][A-Za-z0-9_./+-]*(:[A-Za-z0-9_./+-]+)*");
  const bool plain = matches(text, simple) && plain_meaning(text).empty();
  return plain ? text : Json(text).dump();
}

std::string to_yaml(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return quote_if_needed(*text);
  if (const auto* names = std::get_if<std::vector<std::string>>(&value)) {
    std::vector<std::string> quoted;
    for (const std::string& name : *names) quoted.push_back(quote_if_needed(name));
    return fmt::format("[{}]", fmt::join(quoted, ", "));
  }
  return "null";
}

std::string describe(const ValueSpec& spec) {
  std::string text;
  switch (spec.type) {
    case ValueType::kInteger:
      text = fmt::format("an integer from {} to {}", spec.min, spec.max);
      for (const std::string& word : spec.choices) text += ", or " + word;
      break;
    case ValueType::kBoolean:
      text = "true or false";
      break;
    case ValueType::kChoice:
      text = fmt::format("one of: {}", fmt::join(spec.choices, ", "));
      break;
    case ValueType::kNames:
      text = spec.pattern_words.empty()
                 ? fmt::format("a list of at least {} names, as in {}", spec.min, spec.example)
                 : spec.pattern_words;
      break;
    case ValueType::kSize:
      text = fmt::format("a size with a unit from {} to {}", format_bytes(spec.min),
                         format_bytes(spec.max));
      break;
    case ValueType::kPaths:
      text = fmt::format("a text of {} to {} bytes, or a list of such texts", spec.min, spec.max);
      break;
    case ValueType::kText:
      text = spec.pattern_words.empty()
                 ? fmt::format("a text of {} to {} bytes", spec.min, spec.max)
                 : spec.pattern_words;
      break;
  }
  return spec.nullable ? text + ", or null" : text;
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kList:
      return fmt::format("a list of {}", node.items.size());
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kScalar:
      break;
  }
  const std::string text = preview(node.text);
  if (node.quoted) return fmt::format("the text \"{}\"", text);
  const std::string meaning = plain_meaning(node.text);
  return meaning.empty() ? fmt::format("'{}'", text) : fmt::format("the {} {}", meaning, text);
}

}  // namespace encode
