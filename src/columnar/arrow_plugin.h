// What libencode_arrow.so offers to the program that opens it. Both are built together from this
// header; `version` refuses a plugin of another build.
#pragma once

#include <cstdint>
#include <memory>

#include "columnar/columnar.h"
#include "columnar/table.h"

namespace encode {

struct ArrowPlugin {
  // Must be increased if this header, columnar.h or table.h changes what the plugin and the program
  // share.
  static constexpr int64_t kVersion = 3;

  int64_t version = 0;
  std::unique_ptr<ColumnReader> (*open_column)(ByteFile& file,
                                               const ColumnRequest& request) = nullptr;
  std::unique_ptr<TableWriter> (*open_table_writer)(ByteSink& sink,
                                                    const TableSchema& schema) = nullptr;
  std::unique_ptr<VectorReader> (*open_vectors)(ByteFile& file, bool parquet,
                                                const std::string& path) = nullptr;
};

// The type and the name of the only function that the plugin exports.
using ArrowPluginEntry = const ArrowPlugin* (*)();
inline constexpr const char* kArrowPluginEntry = "encode_arrow_plugin";

}  // namespace encode
