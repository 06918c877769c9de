// Parquet and Arrow files for tests, written by Arrow C++.
#pragma once

#include <arrow/api.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/config.h"

namespace encode::testing {

using Texts = std::vector<std::optional<std::string>>;            // nullopt: null
using IdRows = std::vector<std::vector<std::optional<int64_t>>>;  // of token ids

std::shared_ptr<arrow::Array> text_array(const Texts& texts,
                                         const std::shared_ptr<arrow::DataType>& type);
// `type` is a list type, or a fixed_size_list type that fits the rows.
std::shared_ptr<arrow::Array> ids_array(const IdRows& rows,
                                        const std::shared_ptr<arrow::DataType>& type);
std::shared_ptr<arrow::Array> dictionary_array(const std::vector<int32_t>& indices,
                                               const std::shared_ptr<arrow::Array>& dictionary);

// A table of the column "text" between two columns of other types.
std::shared_ptr<arrow::Table> table_of(const std::shared_ptr<arrow::Array>& column);

enum class Container { kParquet, kIpcFile, kIpcStream };

struct Writing {
  int64_t group_rows = 100;  // of a row group or record batch
  bool compressed = true;    // with zstd
  bool checksums = false;    // of Parquet pages
  bool store_schema = true;  // Parquet: also writes Arrow's schema, which knows more types
};

// Returns the bytes of a file.
std::string file_of(const arrow::Table& table, Container container, const Writing& writing = {});

// For tests of all containers.
inline const auto kContainers =
    ::testing::Values(Container::kParquet, Container::kIpcFile, Container::kIpcStream);
std::string container_name(const ::testing::TestParamInfo<Container>& tested);

std::string suffix_of(Container container);  // ".parquet", ".arrow"

}  // namespace encode::testing
