// The function that libencode_arrow.so exports.
#include "columnar/arrow/array_reader.h"
#include "columnar/arrow/table_writer.h"
#include "columnar/arrow/vector_reader.h"
#include "columnar/arrow_plugin.h"

namespace encode {
namespace {

std::unique_ptr<ColumnReader> open_array_reader(ByteFile& file, const ColumnRequest& request) {
  return std::make_unique<ArrayReader>(file, request);
}

}  // namespace
}  // namespace encode

extern "C" __attribute__((visibility("default"))) const encode::ArrowPlugin* encode_arrow_plugin() {
  static const encode::ArrowPlugin plugin = {.version = encode::ArrowPlugin::kVersion,
                                             .open_column = encode::open_array_reader,
                                             .open_table_writer = encode::make_table_writer,
                                             .open_vectors = encode::make_vector_reader};
  return &plugin;
}
