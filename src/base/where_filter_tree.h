// The parsed form of a WhereFilter.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/decimal.h"
#include "base/where_filter.h"

namespace encode {

// What is compared: a field, the length of a field, or a value in the filter.
struct FilterOperand {
  enum class Kind { kField, kLength, kLiteral };
  Kind kind = Kind::kField;
  size_t field = 0;  // an index into ParsedFilter::fields; not used for a literal
  // Only for a literal:
  FilterValue::Kind type = FilterValue::Kind::kNull;
  std::string text = {};  // the string, "true" or "false", or the number as it is written
  Decimal number = {};

  bool literal() const { return kind == Kind::kLiteral; }
};

enum class FilterComparison { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };

struct FilterNode {
  enum class Kind {
    kAnd,      // of the children
    kOr,       // of the children
    kNot,      // of the only child
    kCompare,  // left with right
    kIn,       // left is one of the list
    kIsNull,   // left
    kTest,     // left is a boolean
  };
  Kind kind = Kind::kTest;
  std::vector<FilterNode> children = {};
  FilterComparison comparison = FilterComparison::kEqual;
  FilterOperand left = {};
  FilterOperand right = {};
  std::vector<FilterOperand> list = {};  // literals
};

struct ParsedFilter {
  std::vector<std::string> fields;
  FilterNode root;
};

// Throws what the constructor of WhereFilter throws.
ParsedFilter parse_filter(std::string_view where);

}  // namespace encode
