#include "encode/types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "encode/error.h"

#include "base/names.h"
#include "base/output_types.h"
#include "base/pooling_modes.h"
#include "base/units.h"

namespace encode {
namespace {

template <typename Table>
auto parse(const Table& table, std::string_view name, std::string_view kind,
           const std::string& where) {
  if (const auto value = find_value(table, name)) return *value;
  throw Error({.code = "config.value",
               .what = fmt::format("unknown {}", kind),
               .where = where,
               .expected = fmt::format("one of: {}", fmt::join(names_of(table), ", ")),
               .found = fmt::format("'{}'", preview(name)),
               .hint = "use one of the expected names"});
}

}  // namespace

void refuse_unchecked_name(std::string_view name) {
  throw Error({.code = "internal",
               .what = "a name was not checked",
               .expected = "a name that encode knows",
               .found = fmt::format("'{}'", preview(name)),
               .hint = "this is a defect of encode"});
}

std::string_view to_string(MatmulPrecision precision) {
  return name_of(kMatmulPrecisions, precision);
}
std::string_view to_string(ComputeType type) { return name_of(kComputeTypes, type); }
std::string_view to_string(PoolingMode mode) { return name_of(kPoolingModes, mode); }
std::string_view to_string(OutputType type) { return name_of(kOutputTypes, type); }
std::string_view to_string(VectorPrecision precision) {
  return name_of(kVectorPrecisions, precision);
}
std::string_view to_string(SpecialTokensRule rule) { return name_of(kSpecialTokensRules, rule); }
std::string_view to_string(PaddingPolicy policy) { return name_of(kPaddingPolicies, policy); }

std::string_view to_string(QuarantinePolicy policy) { return name_of(kQuarantinePolicies, policy); }

std::string_view to_string(MatrixFormat format) { return name_of(kMatrixFormats, format); }
std::string suffix_of(MatrixFormat format) { return "." + std::string(to_string(format)); }

std::string_view npy_type(OutputType type) { return item_facts(type).name; }

bool has_ranges(OutputType type) { return facts_of(type).quantization == Quantization::kScalar; }

std::vector<TableColumn> place_columns() {
  std::vector<TableColumn> columns;
  for (const std::string_view name : kPlaceColumns)
    columns.push_back({.name = std::string(name), .source = fmt::format("[{}]", name)});
  return columns;
}

bool is_place_column(const TableColumn& column) {
  return column.source == fmt::format("[{}]", column.name);
}

bool is_number_column(const TableColumn& column) {
  return column.source == kRowColumn || column.source == kSourceRowSource ||
         is_place_column(column);
}

TableColumn parse_table_column(std::string_view spelled) {
  const size_t sign = spelled.find('=');
  const std::string source(sign == std::string_view::npos ? spelled : spelled.substr(sign + 1));
  return {.name = sign == std::string_view::npos ? source : std::string(spelled.substr(0, sign)),
          .source = source};
}

std::string describe(const TableColumn& column) {
  if (is_place_column(column)) return column.name;
  const bool short_form =
      column.name == column.source && column.name.find('=') == std::string::npos;
  return short_form ? column.name : fmt::format("{}={}", column.name, column.source);
}

std::string describe(const FinalFormat& format) {
  std::string text(to_string(format.type));
  if (format.file != MatrixFormat::kNpy) text += fmt::format(" in {}", to_string(format.file));
  std::string_view separator = " with ";
  for (const TableColumn& column : format.columns) {
    text += fmt::format("{}{}", separator, describe(column));
    separator = ", ";
  }
  return text;
}

int64_t output_columns(OutputType type, int64_t dim) {
  constexpr int64_t kBitsOfByte = 8;
  const int64_t numbers_of_an_item = item_facts(type).bytes * kBitsOfByte / facts_of(type).bits;
  return (dim + numbers_of_an_item - 1) / numbers_of_an_item;
}

MatmulPrecision parse_matmul_precision(std::string_view name, const std::string& where) {
  return parse(kMatmulPrecisions, name, "float32_matmul_precision", where);
}

ComputeType parse_compute_type(std::string_view name, const std::string& where) {
  return parse(kComputeTypes, name, "dtype", where);
}
PoolingMode parse_pooling_mode(std::string_view name, const std::string& where) {
  return parse(kPoolingModes, name, "pooling mode", where);
}
OutputType parse_output_type(std::string_view name, const std::string& where) {
  if (name != "bfloat16") return parse(kOutputTypes, name, "output dtype", where);
  throw Error({.code = "config.value",
               .what = "a matrix cannot be bfloat16",
               .where = where,
               .expected = output_types_in_words(),
               .found = "'bfloat16'",
               .hint = "NumPy has no such type. float16 has the same size and is more exact "
                       "for embeddings. To compute in bfloat16, give --dtype bfloat16 "
                       "(semantic.dtype)"});
}

}  // namespace encode
