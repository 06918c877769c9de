#include "passages_flag.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <string_view>
#include <system_error>

#include "base/names.h"
#include "command.h"

namespace encode {
namespace {

constexpr std::string_view kPassagesForm =
    "--passages max_tokens=N,overlap=N,by=UNIT,vectors=KIND,field=NAME";
constexpr int64_t kMostPassageTokens = int64_t{1} << 20;

[[noreturn]] void refuse_passages(std::string expected, std::string found) {
  refuse_usage("encode tokenize", "--passages states no rule that passages can be cut by",
               std::move(expected), std::move(found));
}

int64_t passage_number(std::string_view key, std::string_view text, int64_t least) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least ||
      number > kMostPassageTokens) {
    refuse_passages(fmt::format("{}=N with a number from {} to {}", key, least, kMostPassageTokens),
                    fmt::format("{}={}", key, text));
  }
  return number;
}

void set_passage_key(std::string_view key, std::string_view value, PassageRule& rule) {
  if (key == "max_tokens") {
    rule.max_tokens = passage_number(key, value, 1);
  } else if (key == "overlap") {
    rule.overlap = passage_number(key, value, 0);
  } else if (const auto unit = find_value(kPassageUnits, value); key == "by" && unit) {
    rule.by = *unit;
  } else if (key == "by") {
    refuse_passages(fmt::format("by=UNIT with {}", fmt::join(names_of(kPassageUnits), ", ")),
                    fmt::format("by={}", value));
  } else if (const auto kind = find_value(kPassageVectors, value); key == "vectors" && kind) {
    rule.vectors = *kind;
  } else if (key == "vectors") {
    refuse_passages(fmt::format("vectors=KIND with {}", fmt::join(names_of(kPassageVectors), ", ")),
                    fmt::format("vectors={}", value));
  } else {
    refuse_passages(std::string(kPassagesForm), std::string(key));
  }
}

}  // namespace

std::string passages_flag_help() {
  return fmt::format(
      "Cut every row into passages of at most max_tokens tokens, prompt and special tokens "
      "included unless vectors=late "
      "(default: the model's limit), and write their places and texts in place of ids. overlap: "
      "the "
      "most tokens of a passage that the next one repeats (default: 0). by: {} (default: {}). "
      "vectors: {}, for the places of a run with this setting (default: {}). "
      "field, as the last key: cut only this field of --text, and put the rest of the template "
      "around every passage",
      fmt::join(names_of(kPassageUnits), ", "), name_of(kPassageUnits, PassageRule{}.by),
      fmt::join(names_of(kPassageVectors), ", "), name_of(kPassageVectors, PassageRule{}.vectors));
}

StatedPassages parse_passages(const std::string& value, int64_t limit) {
  constexpr std::string_view kField = "field=";
  StatedPassages stated;
  std::set<std::string_view> seen;
  std::string_view rest = value;
  for (bool more = true; more;) {
    if (rest.starts_with(kField)) {
      stated.field = rest.substr(kField.size());
      if (stated.field.empty()) refuse_passages("field=NAME with the name of a field", value);
      break;
    }
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) refuse_passages(std::string(kPassagesForm), value);
    const std::string_view key = part.substr(0, equals);
    if (!seen.insert(key).second) refuse_passages("each key once", value);
    set_passage_key(key, part.substr(equals + 1), stated.rule);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  int64_t& max_tokens = stated.rule.max_tokens;
  const int64_t most = stated.rule.most_tokens(limit);
  if (max_tokens == 0 && limit == 0)
    refuse_passages("max_tokens=N, because a lone tokenizer has no limit", value);
  if (max_tokens == 0) max_tokens = std::max<int64_t>(1, most);
  if (limit > 0 && max_tokens > most) {
    refuse_passages(fmt::format("max_tokens of at most {}, {} of the model", most,
                                stated.rule.late() ? "half of the limit" : "the limit"),
                    fmt::format("max_tokens={}", max_tokens));
  }
  return stated;
}

}  // namespace encode
