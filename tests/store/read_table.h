// Reads tables with Arrow C++ alone, as other programs do.
#pragma once

#include <arrow/api.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace encode::testing {

// Returns all rows of a Parquet or Arrow IPC file, in one chunk. Throws std::runtime_error.
std::shared_ptr<arrow::Table> read_table(const std::string& path);
int row_groups(const std::string& parquet_path);

// The bytes of the column `embedding`, row-major.
std::string vector_bytes(const arrow::Table& table);
std::vector<int64_t> numbers_of(const arrow::Table& table, const std::string& column);
std::vector<std::optional<std::string>> texts_of(const arrow::Table& table,
                                                 const std::string& column);

}  // namespace encode::testing
