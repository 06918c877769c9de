#include "base/where_filter.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "base/units.h"
#include "base/utf8.h"
#include "base/where_filter_tree.h"

namespace encode {
namespace {

using Kind = FilterValue::Kind;
using Verdict = WhereFilter::Verdict;

std::string_view filter_noun(Kind kind) {
  switch (kind) {
    case Kind::kBoolean:
      return "boolean";
    case Kind::kNumber:
      return "number";
    case Kind::kOther:
      return "list or object";
    default:
      return "string";
  }
}

// An operand with its value in one record.
struct Term {
  Kind kind = Kind::kNull;
  std::string_view text = {};
  Decimal number = {};  // only for kNumber
};

Verdict verdict_of(bool value) { return value ? Verdict::kTrue : Verdict::kFalse; }

Verdict negated(Verdict verdict) {
  if (verdict == Verdict::kTrue) return Verdict::kFalse;
  return verdict == Verdict::kFalse ? Verdict::kTrue : verdict;
}

bool holds(FilterComparison comparison, std::strong_ordering order) {
  switch (comparison) {
    case FilterComparison::kEqual:
      return order == 0;
    case FilterComparison::kNotEqual:
      return order != 0;
    case FilterComparison::kLess:
      return order < 0;
    case FilterComparison::kLessOrEqual:
      return order <= 0;
    case FilterComparison::kGreater:
      return order > 0;
    case FilterComparison::kGreaterOrEqual:
      break;
  }
  return order >= 0;
}

// Applies a filter to the values of one record. Verdict::kMismatch ends it.
class Evaluation {
 public:
  Evaluation(const std::vector<std::string>& fields, std::span<const FilterValue> values,
             FilterMismatch& mismatch)
      : fields_(fields), values_(values), mismatch_(mismatch) {}

  Verdict judge(const FilterNode& node) {
    switch (node.kind) {
      case FilterNode::Kind::kAnd:
        return judge_children(node, Verdict::kFalse, Verdict::kTrue);
      case FilterNode::Kind::kOr:
        return judge_children(node, Verdict::kTrue, Verdict::kFalse);
      case FilterNode::Kind::kNot:
        return negated(judge(node.children.front()));
      case FilterNode::Kind::kCompare:
        return compare(node.left, node.comparison, node.right);
      case FilterNode::Kind::kIn:
        return judge_list(node);
      case FilterNode::Kind::kIsNull:
        return judge_null(node.left);
      case FilterNode::Kind::kTest:
        break;
    }
    FilterOperand truth;
    truth.kind = FilterOperand::Kind::kLiteral;
    truth.type = Kind::kBoolean;
    truth.text = "true";
    return compare(node.left, FilterComparison::kEqual, truth);
  }

 private:
  // The first child with the verdict `decisive` decides.
  Verdict judge_children(const FilterNode& node, Verdict decisive, Verdict otherwise) {
    Verdict result = otherwise;
    for (const FilterNode& child : node.children) {
      const Verdict verdict = judge(child);
      if (verdict == decisive || verdict == Verdict::kMismatch) return verdict;
      if (verdict == Verdict::kUnknown) result = verdict;
    }
    return result;
  }

  Verdict judge_list(const FilterNode& node) {
    Verdict result = Verdict::kFalse;
    for (const FilterOperand& value : node.list) {
      const Verdict verdict = compare(node.left, FilterComparison::kEqual, value);
      if (verdict == Verdict::kTrue || verdict == Verdict::kMismatch) return verdict;
      if (verdict == Verdict::kUnknown) result = verdict;
    }
    return result;
  }

  Verdict judge_null(const FilterOperand& operand) {
    Term term;
    if (!read(operand, term)) return Verdict::kMismatch;
    return verdict_of(term.kind == Kind::kNull);
  }

  Verdict compare(const FilterOperand& left, FilterComparison comparison,
                  const FilterOperand& right) {
    Term a;
    Term b;
    if (!read(left, a) || !read(right, b)) return Verdict::kMismatch;
    if (a.kind == Kind::kNull || b.kind == Kind::kNull) return Verdict::kUnknown;
    const bool untyped = a.kind == Kind::kUntyped && b.kind == Kind::kUntyped;
    const bool equality =
        comparison == FilterComparison::kEqual || comparison == FilterComparison::kNotEqual;
    if (untyped && !equality) return refuse_order(left, right);
    if (!give_type(left, b.kind, a) || !give_type(right, a.kind, b)) return Verdict::kMismatch;
    if (a.kind != b.kind || a.kind == Kind::kOther) return refuse(left, a, right, b);
    if (a.kind == Kind::kNumber) return verdict_of(holds(comparison, a.number <=> b.number));
    // The bytes of "false" come before those of "true".
    return verdict_of(holds(comparison, a.text.compare(b.text) <=> 0));
  }

  // Sets the value of an operand. Returns false for the length of a value that has none.
  bool read(const FilterOperand& operand, Term& term) {
    if (operand.literal()) {
      term = {.kind = operand.type, .text = operand.text, .number = operand.number};
      return true;
    }
    const FilterValue& value = values_[operand.field];
    term = {.kind = value.kind, .text = value.text};
    if (value.kind == Kind::kNull) return true;
    if (operand.kind == FilterOperand::Kind::kLength) {
      if (value.kind != Kind::kString && value.kind != Kind::kUntyped)
        return refuse_length(operand, term);
      const size_t characters = count_characters(value.text);
      term = {.kind = Kind::kNumber,
              .text = value.text,
              .number = Decimal::parse(fmt::to_string(characters)).value()};
      return true;
    }
    if (value.kind != Kind::kNumber) return true;
    const std::optional<Decimal> number = Decimal::parse(value.text);
    if (!number) return refuse_number(operand, term);
    term.number = *number;
    return true;
  }

  // Gives a value of a format without types the type of what it is compared with.
  bool give_type(const FilterOperand& operand, Kind type, Term& term) {
    if (term.kind != Kind::kUntyped) return true;
    if (type == Kind::kNumber) {
      const std::optional<Decimal> number = Decimal::parse(term.text);
      if (!number) return refuse_number(operand, term);
      term = {.kind = Kind::kNumber, .text = term.text, .number = *number};
    } else if (type == Kind::kBoolean) {
      const std::string word = lower_case(std::string(term.text));
      if (word != "true" && word != "false") {
        set("the filter takes a field that is neither true nor false for a boolean",
            fmt::format("true or false in {}", named(operand)), shown(term));
        return false;
      }
      term = {.kind = Kind::kBoolean, .text = word == "true" ? "true" : "false"};
    } else {
      term.kind = Kind::kString;
    }
    return true;
  }

  std::string named(const FilterOperand& operand) const {
    if (operand.literal()) return fmt::format("{}", preview(operand.text, 40));
    const std::string name = fmt::format("'{}'", preview(fields_[operand.field]));
    return operand.kind == FilterOperand::Kind::kLength ? fmt::format("the length of {}", name)
                                                        : name;
  }

  static std::string shown(const Term& term) {
    return fmt::format("the {} {}{}{}", filter_noun(term.kind),
                       term.kind == Kind::kString ? "'" : "", preview(term.text),
                       term.kind == Kind::kString ? "'" : "");
  }

  void set(std::string what, std::string expected, std::string found) {
    mismatch_ = {
        .what = std::move(what), .expected = std::move(expected), .found = std::move(found)};
  }

  bool refuse_number(const FilterOperand& operand, const Term& term) {
    set("the filter takes a field that is no number for a number",
        fmt::format("a number in {}", named(operand)), fmt::format("'{}'", preview(term.text)));
    return false;
  }

  bool refuse_length(const FilterOperand& operand, const Term& term) {
    set("length() in the filter takes a string",
        fmt::format("a string in '{}'", preview(fields_[operand.field])), shown(term));
    return false;
  }

  Verdict refuse_order(const FilterOperand& left, const FilterOperand& right) {
    set("the filter orders two columns of a format without types",
        fmt::format("{} or {} compared with a number or a string of the filter", named(left),
                    named(right)),
        "two columns, which may be numbers or strings");
    return Verdict::kMismatch;
  }

  Verdict refuse(const FilterOperand& left, const Term& a, const FilterOperand& right,
                 const Term& b) {
    // The field is to blame, not the value in the filter.
    const bool blame_left = !left.literal();
    const FilterOperand& field = blame_left ? left : right;
    const FilterOperand& other = blame_left ? right : left;
    const Term& value = blame_left ? a : b;
    const Kind wanted = blame_left ? b.kind : a.kind;
    if (value.kind == Kind::kOther || wanted == Kind::kOther) {
      set("the filter compares a list or an object", "strings, numbers or booleans",
          fmt::format("{} in {}", shown(value.kind == Kind::kOther ? value : b), named(field)));
    } else {
      set(fmt::format("the filter compares a {} with a {}", filter_noun(value.kind),
                      filter_noun(wanted)),
          fmt::format("a {} in {}, because the filter compares it with {}", filter_noun(wanted),
                      named(field), named(other)),
          shown(value));
    }
    return Verdict::kMismatch;
  }

  const std::vector<std::string>& fields_;
  std::span<const FilterValue> values_;
  FilterMismatch& mismatch_;
};

}  // namespace

WhereFilter::WhereFilter(std::string_view where) {
  ParsedFilter parsed = parse_filter(where);
  fields_ = std::move(parsed.fields);
  root_ = std::make_shared<const FilterNode>(std::move(parsed.root));
}

WhereFilter::Verdict WhereFilter::apply(std::span<const FilterValue> values,
                                        FilterMismatch& mismatch) const {
  return Evaluation(fields_, values, mismatch).judge(*root_);
}

}  // namespace encode
