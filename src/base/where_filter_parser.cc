// The parser of WhereFilter: recursive descent over tokens, with a limit on its depth.
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "base/utf8.h"
#include "base/where_filter_lexer.h"
#include "base/where_filter_tree.h"

namespace encode {
namespace {

constexpr const char* kFilterExample = "as in lang == \"en\" and length(text) > 20";

constexpr std::string_view kFilterWords[] = {"and", "or",   "not",  "in",
                                             "is",  "null", "true", "false"};

class FilterParser {
 public:
  explicit FilterParser(std::string_view where)
      : where_(where), lexer_(where), token_(lexer_.next()) {}

  ParsedFilter parse() {
    ParsedFilter filter;
    filter.root = parse_or();
    if (token_.kind != FilterToken::Kind::kEnd)
      fail("the filter goes on after a complete condition", "and, or, or the end of the filter",
           "combine conditions with and, or and parentheses");
    filter.fields = std::move(fields_);
    return filter;
  }

 private:
  using Kind = FilterNode::Kind;

  [[noreturn]] void fail(std::string what, std::string expected, std::string hint) const {
    refuse_filter(std::move(what), std::move(expected), filter_place(where_, token_.begin),
                  std::move(hint));
  }

  FilterToken take() { return std::exchange(token_, lexer_.next()); }
  bool take_word(std::string_view word) {
    if (!token_.word(word)) return false;
    take();
    return true;
  }
  bool take_symbol(std::string_view symbol) {
    if (!token_.symbol(symbol)) return false;
    take();
    return true;
  }

  FilterNode parse_or() {
    return parse_joined(Kind::kOr, "or", [this] { return parse_and(); });
  }
  FilterNode parse_and() {
    return parse_joined(Kind::kAnd, "and", [this] { return parse_not(); });
  }

  template <typename ParsePart>
  FilterNode parse_joined(Kind kind, std::string_view word, const ParsePart& parse_part) {
    FilterNode first = parse_part();
    if (!token_.word(word)) return first;
    FilterNode node = {.kind = kind};
    node.children.push_back(std::move(first));
    while (take_word(word)) node.children.push_back(parse_part());
    return node;
  }

  void descend() {
    if (++depth_ > WhereFilter::kMostDepth)
      fail("the filter is nested too deeply",
           fmt::format("at most {} levels of parentheses and not", WhereFilter::kMostDepth),
           "write a simpler filter; in replaces a long chain of or");
  }

  FilterNode parse_not() {
    if (!token_.word("not")) return parse_condition();
    descend();
    take();
    FilterNode child = parse_not();
    --depth_;
    return negate(std::move(child));
  }

  static FilterNode negate(FilterNode child) {
    FilterNode node = {.kind = Kind::kNot};
    node.children.push_back(std::move(child));
    return node;
  }

  FilterNode parse_condition() {
    if (token_.symbol("(")) {
      descend();
      take();
      FilterNode inside = parse_or();
      if (!take_symbol(")"))
        fail("a parenthesis of the filter is not closed", "a closing parenthesis",
             "close every ( with a )");
      --depth_;
      return inside;
    }
    const size_t begin = token_.begin;
    FilterNode node;
    node.left = parse_operand();
    if (const auto comparison = take_comparison())
      return finish_comparison(*comparison, node, begin);
    if (take_word("is")) {
      const bool inverted = take_word("not");
      if (!take_word("null"))
        fail("the filter has is without null", "is null, or is not null", "compare with == or !=");
      node.kind = Kind::kIsNull;
      return inverted ? negate(std::move(node)) : node;
    }
    const bool inverted = take_word("not");
    if (inverted && !token_.word("in"))
      fail("the filter has not behind a value", "not in [...]", "put not in front of a condition");
    if (take_word("in")) {
      parse_list(node);
      return inverted ? negate(std::move(node)) : node;
    }
    require_test(node.left, begin);
    return node;
  }

  // Refuses a value that stands where a condition must stand.
  void require_test(const FilterOperand& operand, size_t begin) const {
    const bool truth =
        operand.type == FilterValue::Kind::kBoolean || operand.type == FilterValue::Kind::kNull;
    const bool field = operand.kind == FilterOperand::Kind::kField;
    if (field || (operand.literal() && truth)) return;
    refuse_filter(
        "a value of the filter is compared with nothing", "a comparison, in, or is null",
        filter_place(where_, begin),
        fmt::format("write a condition, {}; a name with other characters than letters, digits "
                    "and _ needs backticks",
                    kFilterExample));
  }

  std::optional<FilterComparison> take_comparison() {
    constexpr std::pair<std::string_view, FilterComparison> kComparisons[] = {
        {"==", FilterComparison::kEqual},    {"=", FilterComparison::kEqual},
        {"!=", FilterComparison::kNotEqual}, {"<>", FilterComparison::kNotEqual},
        {"<", FilterComparison::kLess},      {"<=", FilterComparison::kLessOrEqual},
        {">", FilterComparison::kGreater},   {">=", FilterComparison::kGreaterOrEqual}};
    for (const auto& [symbol, comparison] : kComparisons) {
      if (take_symbol(symbol)) return comparison;
    }
    return std::nullopt;
  }

  FilterNode finish_comparison(FilterComparison comparison, FilterNode& node, size_t begin) {
    node.kind = Kind::kCompare;
    node.comparison = comparison;
    node.right = parse_operand();
    for (const FilterOperand& side : {node.left, node.right}) {
      if (side.literal() && side.type == FilterValue::Kind::kNull)
        refuse_filter("the filter compares with null, which is never true",
                      "is null, or is not null", filter_place(where_, begin),
                      "write x is null in place of x == null");
    }
    if (node.left.literal() && node.right.literal())
      refuse_filter("the filter compares two values, and no field", "a field and a value",
                    filter_place(where_, begin),
                    "quotes make a string; put a name in backticks, or write it without quotes");
    return std::move(node);
  }

  void parse_list(FilterNode& node) {
    node.kind = Kind::kIn;
    const char* close = token_.symbol("(") ? ")" : "]";
    if (!take_symbol("[") && !take_symbol("("))
      fail("the filter has in without a list", "a list such as [\"en\", \"de\"]",
           "put the values in brackets, with commas between them");
    auto type = FilterValue::Kind::kNull;
    do {
      const size_t begin = token_.begin;
      FilterOperand value = parse_operand();
      if (!value.literal())
        refuse_filter("a list of the filter has a field", "strings, numbers, true, false and null",
                      filter_place(where_, begin), "put strings in quotes");
      const bool typed = value.type != FilterValue::Kind::kNull;
      if (typed && type != FilterValue::Kind::kNull && type != value.type)
        refuse_filter("a list of the filter has values of different types", "values of one type",
                      filter_place(where_, begin), "write two lists, with or between them");
      if (typed) type = value.type;
      node.list.push_back(std::move(value));
    } while (take_symbol(","));
    if (!take_symbol(close))
      fail("a list of the filter is not closed", fmt::format("a comma or {}", close),
           "separate the values with commas, and close the list");
  }

  FilterOperand parse_operand() {
    switch (token_.kind) {
      case FilterToken::Kind::kField:
        return field(take().text);
      case FilterToken::Kind::kString:
        return literal(FilterValue::Kind::kString, take().text);
      case FilterToken::Kind::kNumber:
        return literal(FilterValue::Kind::kNumber, take().text);
      case FilterToken::Kind::kWord:
        return parse_word();
      default:
        fail("the filter lacks a field or a value",
             "a field, a string in quotes, a number, true or false",
             fmt::format("write a condition, {}", kFilterExample));
    }
  }

  FilterOperand parse_word() {
    const std::string word = lower_case(token_.text);
    if (word == "true" || word == "false") {
      take();
      return literal(FilterValue::Kind::kBoolean, word);
    }
    if (word == "null") {
      take();
      return literal(FilterValue::Kind::kNull, word);
    }
    if (std::find(std::begin(kFilterWords), std::end(kFilterWords), word) != std::end(kFilterWords))
      fail(fmt::format("the filter has {} where a field or a value must stand", word),
           "a field, a string in quotes, a number, true or false",
           fmt::format("a field of this name needs backticks: `{}`", word));
    const FilterToken name = take();
    if (!token_.symbol("(")) return field(name.text);
    if (word != "length")
      refuse_filter("the filter has an unknown function", "length(FIELD)",
                    filter_place(where_, name.begin), "length is the only function");
    take();
    FilterOperand operand = parse_operand();
    if (operand.kind != FilterOperand::Kind::kField)
      refuse_filter("length() in the filter takes a field", "length(FIELD)",
                    filter_place(where_, name.begin),
                    "write the name of a field in the parentheses");
    operand.kind = FilterOperand::Kind::kLength;
    if (!take_symbol(")"))
      fail("the parenthesis of length is not closed", "a closing parenthesis",
           "length takes one field");
    return operand;
  }

  static FilterOperand literal(FilterValue::Kind type, std::string text) {
    FilterOperand operand = {.kind = FilterOperand::Kind::kLiteral, .type = type};
    if (type == FilterValue::Kind::kNumber) operand.number = Decimal::parse(text).value();
    operand.text = std::move(text);
    return operand;
  }

  FilterOperand field(const std::string& name) {
    const auto found = std::find(fields_.begin(), fields_.end(), name);
    const auto index = static_cast<size_t>(found - fields_.begin());
    if (found == fields_.end()) {
      if (fields_.size() == WhereFilter::kMostFields)
        refuse_filter("the filter has too many fields",
                      fmt::format("at most {} fields", WhereFilter::kMostFields),
                      fmt::format("more; the next one is '{}'", preview(name)),
                      "filter the input with a program of your own");
      fields_.push_back(name);
    }
    return {.field = index};
  }

  std::string_view where_;
  FilterLexer lexer_;
  FilterToken token_;
  int depth_ = 0;
  std::vector<std::string> fields_;
};

}  // namespace

ParsedFilter parse_filter(std::string_view where) {
  if (where.size() > WhereFilter::kMostBytes)
    refuse_filter("the filter is too long",
                  fmt::format("at most {} bytes", WhereFilter::kMostBytes),
                  format_count(static_cast<int64_t>(where.size()), "byte", "bytes"),
                  "filter the input with a program of your own");
  if (!is_valid_utf8(where))
    refuse_filter("the filter is not valid UTF-8", "UTF-8", preview(where),
                  "save the config as UTF-8");
  ParsedFilter filter = FilterParser(where).parse();
  if (filter.fields.empty())
    refuse_filter("the filter names no field", "a comparison of a field",
                  fmt::format("'{}'", preview(where)),
                  fmt::format("write a condition, {}", kFilterExample));
  return filter;
}

}  // namespace encode
