#include "columnar/arrow/column_values.h"

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/checked_cast.h>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

#include "encode/error.h"

#include "base/output_types.h"
#include "base/units.h"
#include "columnar/arrow/vector_type.h"

namespace encode {
namespace {

using arrow::internal::checked_cast;

bool is_text(const arrow::DataType& type) {
  return type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING ||
         type.id() == arrow::Type::STRING_VIEW;
}

bool is_scalar(const arrow::DataType& type) {
  return arrow::is_primitive(type.id()) || arrow::is_decimal(type.id());
}

ColumnValue::Type type_of(const arrow::DataType& scalar) {
  if (scalar.id() == arrow::Type::BOOL) return ColumnValue::Type::kBoolean;
  const bool number = arrow::is_numeric(scalar.id()) || arrow::is_decimal(scalar.id());
  return number ? ColumnValue::Type::kNumber : ColumnValue::Type::kString;
}

bool is_row(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::DICTIONARY:
      return is_text(*checked_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
      return arrow::is_integer(type.field(0)->type()->id());
    case arrow::Type::FIXED_SIZE_LIST:
      // Lists of size 0 are refused: they take no bytes, so a small file could have any number of
      // them.
      return arrow::is_integer(type.field(0)->type()->id()) &&
             checked_cast<const arrow::FixedSizeListType&>(type).list_size() > 0;
    default:
      return is_text(type);
  }
}

bool is_readable(const arrow::DataType& type, ColumnRequest::Values values) {
  switch (values) {
    case ColumnRequest::Values::kVectors:
      return item_type_of(type).has_value();
    case ColumnRequest::Values::kAny:
      return is_scalar(type) || (is_row(type) && !arrow::is_list_like(type.id()));
    case ColumnRequest::Values::kRows:
      break;
  }
  return is_row(type);
}

// Returns the names of the columns that a request may read, or of all columns for nullopt; "" if
// there are none.
std::string names_of(const arrow::Schema& schema, std::optional<ColumnRequest::Values> values) {
  constexpr size_t kMostShown = 300;
  std::string names;
  for (const auto& field : schema.fields()) {
    if (values && !is_readable(*field->type(), *values)) continue;
    if (!names.empty()) names += ", ";
    names += preview(field->name());
    if (names.size() > kMostShown) return names + ", ...";
  }
  return names;
}

// Arrays of binary values have the same layout as arrays of strings, but Arrow does not check their
// UTF-8.
std::shared_ptr<arrow::DataType> as_binary(arrow::Type::type id) {
  if (id == arrow::Type::STRING) return arrow::binary();
  return id == arrow::Type::LARGE_STRING ? arrow::large_binary() : arrow::binary_view();
}

template <typename ArrayType>
std::pair<int64_t, int64_t> entries(const arrow::Array& array, int64_t row) {
  const auto& lists = checked_cast<const ArrayType&>(array);
  return {lists.value_offset(row), lists.value_length(row)};
}

// Appends the entries [begin, begin + size) to `ids`. Returns "", or the first entry that is no
// token id.
template <typename ArrayType>
std::string append_ids(const arrow::Array& array, std::pair<int64_t, int64_t> range,
                       std::vector<int32_t>& ids) {
  const auto& values = checked_cast<const ArrayType&>(array);
  for (int64_t i = 0; i < range.second; ++i) {
    const int64_t place = range.first + i;
    if (values.IsNull(place)) return fmt::format("null as entry {}", i);
    const auto id = values.Value(place);
    if (!std::in_range<int32_t>(id) || std::cmp_less(id, 0))
      return fmt::format("{} as entry {}", id, i);
    ids.push_back(static_cast<int32_t>(id));
  }
  return "";
}

std::string append_ids(const arrow::Array& values, std::pair<int64_t, int64_t> range,
                       std::vector<int32_t>& ids) {
  switch (values.type_id()) {
    case arrow::Type::INT8:
      return append_ids<arrow::Int8Array>(values, range, ids);
    case arrow::Type::UINT8:
      return append_ids<arrow::UInt8Array>(values, range, ids);
    case arrow::Type::INT16:
      return append_ids<arrow::Int16Array>(values, range, ids);
    case arrow::Type::UINT16:
      return append_ids<arrow::UInt16Array>(values, range, ids);
    case arrow::Type::INT32:
      return append_ids<arrow::Int32Array>(values, range, ids);
    case arrow::Type::UINT32:
      return append_ids<arrow::UInt32Array>(values, range, ids);
    case arrow::Type::INT64:
      return append_ids<arrow::Int64Array>(values, range, ids);
    default:
      return append_ids<arrow::UInt64Array>(values, range, ids);
  }
}

[[noreturn]] void refuse_vectors(const arrow::Schema& schema, const ColumnRequest& request) {
  throw Error({.code = "arrow.vectors",
               .what = "the file has no column of vectors",
               .where = request.path,
               .expected = fmt::format("a column '{}' of lists of a fixed size, of {}",
                                       request.column, item_types_in_words()),
               .found = preview(schema.ToString(), 300),
               .hint = "give a matrix that encode wrote"});
}

}  // namespace

int column_index(const arrow::Schema& schema, const ColumnRequest& request) {
  const std::vector<int> found = schema.GetAllFieldIndices(request.column);
  const bool vectors = request.values == ColumnRequest::Values::kVectors;
  const auto readable = [&] {
    return is_readable(*schema.field(found.front())->type(), request.values);
  };
  if (vectors && (found.size() != 1 || !readable())) refuse_vectors(schema, request);
  if (found.size() != 1) {
    throw Error({.code = "arrow.column",
                 .what = fmt::format("the file has {} '{}'",
                                     found.empty() ? "no column" : "several columns",
                                     preview(request.column)),
                 .where = request.path,
                 .expected = fmt::format("one column '{}'", preview(request.column)),
                 .found = schema.num_fields() == 0 ? "no columns" : names_of(schema, {}),
                 .hint = "name a column of the top level"});
  }
  if (readable()) return found.front();
  const arrow::DataType& type = *schema.field(found.front())->type();
  const std::string others = names_of(schema, request.values);
  throw Error({.code = "arrow.type",
               .what = fmt::format("the column '{}' is not text", preview(request.column)),
               .where = request.path,
               .expected = request.values == ColumnRequest::Values::kAny
                               ? "strings, numbers, booleans, dates or times"
                               : "strings, or lists of integers as token ids",
               .found = preview(type.ToString(), 200),
               .hint = fmt::format("{}cast it to string when you write the file",
                                   others.empty() ? "" : fmt::format("choose {}, or ", others))});
}

void ColumnValues::check(const arrow::Array& array) const {
  file_.guarded([&] { return array.ValidateFull(); });
}

void ColumnValues::check_texts(const std::shared_ptr<arrow::Array>& texts) {
  const std::shared_ptr<arrow::ArrayData> data = texts->data()->Copy();
  data->type = as_binary(texts->type_id());
  check(*arrow::MakeArray(data));
}

void ColumnValues::set(std::shared_ptr<arrow::Array> array) {
  size_ = 0;
  dictionary_.reset();
  if (is_text(*array->type())) {
    check_texts(array);
  } else if (array->type_id() == arrow::Type::DICTIONARY) {
    const auto& encoded = checked_cast<const arrow::DictionaryArray&>(*array);
    check(*encoded.indices());
    dictionary_ = encoded.dictionary();
    if (checked_dictionary_ != dictionary_->data()) check_texts(dictionary_);
    checked_dictionary_ = dictionary_->data();
  } else {
    check(*array);
  }
  size_ = array->length();
  array_ = std::move(array);
}

void ColumnValues::get(int64_t row, ColumnValue& value) {
  if (array_->IsNull(row)) {
    value.kind = ColumnValue::Kind::kNull;
    return;
  }
  if (dictionary_ == nullptr) {
    if (is_text(*array_->type())) {
      get_text(*array_, row, value);
    } else if (is_scalar(*array_->type())) {
      get_scalar(row, value);
    } else {
      get_ids(row, value);
    }
    return;
  }
  const int64_t index = checked_cast<const arrow::DictionaryArray&>(*array_).GetValueIndex(row);
  if (index < 0 || index >= dictionary_->length())
    file_.refuse_damage(
        fmt::format("the index {} into a dictionary of {}", index, dictionary_->length()));
  get_text(*dictionary_, index, value);
}

void ColumnValues::get_text(const arrow::Array& texts, int64_t row, ColumnValue& value) const {
  value.kind = texts.IsNull(row) ? ColumnValue::Kind::kNull : ColumnValue::Kind::kText;
  if (value.kind == ColumnValue::Kind::kNull) return;
  value.type = ColumnValue::Type::kString;
  switch (texts.type_id()) {
    case arrow::Type::STRING:
      value.text = checked_cast<const arrow::StringArray&>(texts).GetView(row);
      break;
    case arrow::Type::LARGE_STRING:
      value.text = checked_cast<const arrow::LargeStringArray&>(texts).GetView(row);
      break;
    default:
      value.text = checked_cast<const arrow::StringViewArray&>(texts).GetView(row);
      break;
  }
}

void ColumnValues::get_ids(int64_t row, ColumnValue& value) {
  std::pair<int64_t, int64_t> range;
  std::shared_ptr<arrow::Array> values;
  switch (array_->type_id()) {
    case arrow::Type::LIST:
      range = entries<arrow::ListArray>(*array_, row);
      values = checked_cast<const arrow::ListArray&>(*array_).values();
      break;
    case arrow::Type::LARGE_LIST:
      range = entries<arrow::LargeListArray>(*array_, row);
      values = checked_cast<const arrow::LargeListArray&>(*array_).values();
      break;
    default:
      range = entries<arrow::FixedSizeListArray>(*array_, row);
      values = checked_cast<const arrow::FixedSizeListArray&>(*array_).values();
      break;
  }
  ids_.clear();
  value.found = append_ids(*values, range, ids_);
  value.kind = value.found.empty() ? ColumnValue::Kind::kIds : ColumnValue::Kind::kBadIds;
  value.ids = ids_;
}

void ColumnValues::get_scalar(int64_t row, ColumnValue& value) {
  file_.guarded([&] {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Scalar> scalar, array_->GetScalar(row));
    scalar_ = scalar->ToString();
    return arrow::Status::OK();
  });
  value.kind = ColumnValue::Kind::kText;
  value.type = type_of(*array_->type());
  value.text = scalar_;
}

}  // namespace encode
