// The filter of the rows of an input (InputFilter::where): an expression such as
// `lang == "en" and length > 20`. docs/inputs.md describes the language for users.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace encode {

struct FilterNode;  // see where_filter_tree.h

// The value of a field in one record.
struct FilterValue {
  enum class Kind {
    kNull,     // no value, or a number that is no number (NaN)
    kBoolean,  // `text` is "true" or "false"
    kNumber,   // `text` is as Decimal::parse() takes it
    kString,   // `text` is valid UTF-8
    kUntyped,  // as kString, of a format that has no types: what it is compared with gives the type
    kOther,    // a list or an object
  };
  Kind kind = Kind::kNull;
  std::string_view text = {};
};

// Why a filter cannot be applied to a record, in the words of ErrorDetail.
struct FilterMismatch {
  std::string what;
  std::string expected;
  std::string found;
};

// Immutable. Any number of threads may use it.
class WhereFilter {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 10;
  static constexpr size_t kMostFields = 16;  // different fields of one filter
  static constexpr int kMostDepth = 64;      // of parentheses and `not`

  // What the filter says of a record. As in SQL, a comparison with a null is unknown.
  enum class Verdict { kFalse, kUnknown, kTrue, kMismatch };

  // Throws Error kConfig "config.filter", with "where" as its place, if the text is no filter or
  // exceeds a limit.
  explicit WhereFilter(std::string_view where);

  // The names of the fields as InputOptions::field, each once, in the order in which they first
  // occur.
  const std::vector<std::string>& fields() const { return fields_; }

  // Applies the filter to a record; `values` has the order of fields(). `and` and `or` look at
  // their right side only if the left side does not decide. Sets `mismatch` if the verdict is
  // kMismatch: the filter compares values of different types.
  Verdict apply(std::span<const FilterValue> values, FilterMismatch& mismatch) const;

 private:
  std::vector<std::string> fields_;
  std::shared_ptr<const FilterNode> root_;
};

}  // namespace encode
