// Writes the columns of a JSON document to a Parquet or Arrow IPC file, for the tests that are
// written in Python.
//
//   make_columnar COLUMNS.json FILE.parquet|FILE.arrow
//
// The document is a list of {"name": NAME, "values": [...]}. The values of a column are strings,
// numbers or booleans, or null; the first one that is not null states the type, and one number with
// a point makes all numbers doubles.
#include <algorithm>
#include <arrow/api.h>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "arrow_files.h"
#include "base/json.h"

namespace encode::testing {
namespace {

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> array_of(const Json& values) {
  Builder builder;
  for (const Json& value : values) {
    const arrow::Status status =
        value.is_null() ? builder.AppendNull() : builder.Append(value.get<Value>());
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> column_of(const Json& values) {
  const bool doubles = std::any_of(values.begin(), values.end(),
                                   [](const Json& value) { return value.is_number_float(); });
  if (doubles) return array_of<arrow::DoubleBuilder, double>(values);
  for (const Json& value : values) {
    if (value.is_boolean()) return array_of<arrow::BooleanBuilder, bool>(values);
    if (value.is_number()) return array_of<arrow::Int64Builder, int64_t>(values);
    if (value.is_string()) break;
  }
  return array_of<arrow::StringBuilder, std::string>(values);
}

void make(const std::string& columns, const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(columns).rdbuf();
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const Json& column : Json::parse(text.str())) {
    arrays.push_back(column_of(column.at("values")));
    fields.push_back(arrow::field(column.at("name").get<std::string>(), arrays.back()->type()));
  }
  const auto table = arrow::Table::Make(arrow::schema(fields), arrays);
  const Container container =
      path.ends_with(suffix_of(Container::kParquet)) ? Container::kParquet : Container::kIpcFile;
  std::ofstream(path, std::ios::binary) << file_of(*table, container, {.group_rows = 7});
}

}  // namespace
}  // namespace encode::testing

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  try {
    encode::testing::make(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
