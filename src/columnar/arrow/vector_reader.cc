#include "columnar/arrow/vector_reader.h"

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/checked_cast.h>
#include <fmt/format.h>
#include <optional>

#include "encode/types.h"

#include "base/units.h"
#include "columnar/arrow/array_reader.h"
#include "columnar/arrow/opened_file.h"
#include "columnar/arrow/vector_type.h"

namespace encode {
namespace {

using arrow::internal::checked_cast;

std::shared_ptr<arrow::DataType> arrow_type(ItemType item) {
  switch (item) {
    case ItemType::kFloat16:
      return arrow::float16();
    case ItemType::kInt8:
      return arrow::int8();
    case ItemType::kUint8:
      return arrow::uint8();
    case ItemType::kFloat32:
      break;
  }
  return arrow::float32();
}

TableSchema schema_of(const arrow::Schema& found, bool parquet) {
  TableSchema schema;
  schema.parquet = parquet;
  for (const auto& field : found.fields()) {
    if (field->name() == kEmbeddingColumn) {
      schema.item = item_type_of(*field->type()).value();
      schema.items = checked_cast<const arrow::FixedSizeListType&>(*field->type()).list_size();
      continue;
    }
    const arrow::Type::type id = field->type()->id();
    const bool known = id == arrow::Type::INT64 || id == arrow::Type::STRING;
    schema.columns.push_back({.name = known ? field->name()
                                            : fmt::format("{} ({})", field->name(),
                                                          preview(field->type()->ToString(), 100)),
                              .numbers = id == arrow::Type::INT64});
  }
  return schema;
}

class TableVectors final : public VectorReader {
 public:
  TableVectors(ByteFile& file, bool parquet, const std::string& path)
      : file_(file, {.format = parquet ? TextFormat::kParquet : TextFormat::kArrow,
                     .path = path,
                     .column = kEmbeddingColumn,
                     .values = ColumnRequest::Values::kVectors}),
        source_(open_source(file_)),
        schema_(schema_of(source_->schema(), parquet)),
        rows_(source_->rows()) {}

  int64_t rows() const override { return rows_; }
  const TableSchema& schema() const override { return schema_; }

  std::span<const std::byte> next() override {
    array_ = source_->next();
    if (array_ == nullptr) {
      if (read_ != rows_) refuse_rows();
      return {};
    }
    read_ += array_->length();
    if (read_ > rows_) refuse_rows();
    file_.guarded([&] { return array_->ValidateFull(); });
    if (item_type_of(*array_->type()) != schema_.item)
      file_.refuse_damage("vectors of another type than the schema states");
    const auto& lists = checked_cast<const arrow::FixedSizeListArray&>(*array_);
    const std::shared_ptr<arrow::Array>& values = lists.values();
    if (lists.list_type()->list_size() != schema_.items || lists.null_count() > 0 ||
        values->null_count() > 0)
      file_.refuse_damage("a vector without a value, or of another size");
    const int64_t item_bytes = facts_of(schema_.item).bytes;
    const uint8_t* const first = values->data()->buffers[1]->data() +
                                 (values->offset() + lists.value_offset(0)) * item_bytes;
    return {reinterpret_cast<const std::byte*>(first),
            static_cast<size_t>(lists.length() * schema_.items * item_bytes)};
  }

 private:
  [[noreturn]] void refuse_rows() const {
    file_.refuse_damage(fmt::format("another number of rows than the {} that it states", rows_));
  }

  OpenedFile file_;
  std::unique_ptr<ArraySource> source_;
  TableSchema schema_;
  int64_t rows_ = 0;
  int64_t read_ = 0;
  std::shared_ptr<arrow::Array> array_;  // holds the last block
};

}  // namespace

std::shared_ptr<arrow::DataType> vector_type(ItemType item, int64_t items) {
  return arrow::fixed_size_list(arrow::field("item", arrow_type(item), /*nullable=*/false),
                                static_cast<int32_t>(items));
}

std::optional<ItemType> item_type_of(const arrow::DataType& type) {
  if (type.id() != arrow::Type::FIXED_SIZE_LIST) return std::nullopt;
  const auto& list = checked_cast<const arrow::FixedSizeListType&>(type);
  if (list.list_size() < 1) return std::nullopt;
  for (const auto& [name, item] : kItemTypes) {
    if (arrow_type(item)->id() == list.value_type()->id()) return item;
  }
  return std::nullopt;
}

std::unique_ptr<VectorReader> make_vector_reader(ByteFile& file, bool parquet,
                                                 const std::string& path) {
  return std::make_unique<TableVectors>(file, parquet, path);
}

}  // namespace encode
