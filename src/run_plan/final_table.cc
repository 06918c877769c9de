#include "run_plan/final_table.h"

#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "encode/error.h"
#include "encode/text.h"

#include "columnar/columnar.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// The columns that are fields of the input.
std::vector<std::string> fields_of(const FinalFormat& format) {
  std::vector<std::string> fields;
  for (const TableColumn& column : format.columns) {
    if (column.source != kTextColumn && !is_number_column(column)) fields.push_back(column.source);
  }
  return fields;
}

std::unique_ptr<ScannedFields> open_rows(const StreamPlan& stream,
                                         const std::vector<std::string>& fields) {
  const InputOptions& input = stream.config.input;
  if (!stream.sharded) return open_scanned_fields(input, stream.scan, fields);
  return open_fields_of_rows(
      input, {.rows = stream.identity.range(), .scan = stream.scan, .blocks = stream.field_blocks},
      fields);
}

// The values of the columns that come from the input, which is read again. The run, or the plan of
// the shards, has hashed it before, and ScannedFields proves that it is still the same.
class InputColumns final : public ColumnSource {
 public:
  InputColumns(const StreamPlan& stream, const FinalFormat& format)
      : stream_(stream), columns_(format.columns), rows_(open_rows(stream, fields_of(format))) {}

  void next(std::vector<std::optional<std::string>>& values) override {
    if (!rows_->next(row_)) {
      throw misuse("a matrix has more rows than its input", stream_.final_path,
                   fmt::format("{} rows", stream_.scan.rows), "more rows");
    }
    values.clear();
    auto field = row_.fields.begin();
    for (const TableColumn& column : columns_) {
      if (is_number_column(column)) continue;
      if (column.source == kTextColumn) {
        // The places of passages are in the field that is cut.
        if (row_.text && stream_.identity.passages)
          row_.text->erase(0, static_cast<size_t>(row_.bytes_before));
        values.push_back(std::move(row_.text));
      } else {
        values.push_back(std::move(*field++));
      }
    }
  }
  int64_t source_row() const override { return row_.record; }
  void finish() override { rows_->finish(); }

 private:
  const StreamPlan& stream_;
  std::vector<TableColumn> columns_;
  std::unique_ptr<ScannedFields> rows_;
  FieldRow row_;
};

}  // namespace

void require_tables(const StoreOptions& store, const std::vector<StreamPlan>& streams) {
  if (store.final_format.file == MatrixFormat::kNpy) return;
  for (const StreamPlan& stream : streams) {
    require_columnar(stream.final_path);
    if (!stream.effective.token_embeddings()) continue;
    throw Error({.code = "output.token_vectors",
                 .what = "token embeddings cannot be written as a table",
                 .where = stream.config.name(),
                 .expected = "one vector for each row, or a .npy output",
                 .found = fmt::format("pooling: none and the output format {}",
                                      to_string(store.final_format.file)),
                 .hint = "write a .npy file (--output NAME.npy; output.format: npy in a config), "
                         "which numpy can map into memory; a file beside the matrix says where "
                         "the vectors of a row begin"});
  }
}

void require_columns(const StoreOptions& store, const StreamPlan& stream) {
  if (stream.sharded) return;  // the plan of the shards has looked at all files
  require_fields(stream.config.input, stream.scan, fields_of(store.final_format));
}

FieldBlocks hash_columns(const StoreOptions& store, const StreamPlan& stream) {
  const std::vector<std::string> fields = fields_of(store.final_format);
  if (fields.empty()) return {};
  return hash_fields(stream.config.input, stream.scan, fields);
}

ColumnOpener columns_of(const StoreOptions& store, const StreamPlan& stream) {
  return [&format = store.final_format, &stream] {
    return std::make_unique<InputColumns>(stream, format);
  };
}

}  // namespace encode
