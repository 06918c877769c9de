#include "columnar/arrow/vector_reader.h"

#include <algorithm>
#include <array>
#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/checked_cast.h>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "encode/types.h"

#include "base/npy.h"
#include "base/units.h"
#include "columnar/arrow/array_reader.h"
#include "columnar/arrow/opened_file.h"
#include "columnar/arrow/vector_type.h"

namespace encode {
namespace {

using arrow::internal::checked_cast;

struct ItemType {
  std::string_view descr;
  arrow::Type::type id;
};

constexpr auto kItemTypes = std::to_array<ItemType>({{"<f4", arrow::Type::FLOAT},
                                                     {"<f2", arrow::Type::HALF_FLOAT},
                                                     {"|i1", arrow::Type::INT8},
                                                     {"|u1", arrow::Type::UINT8}});

TableSchema schema_of(const arrow::Schema& found, bool parquet) {
  TableSchema schema;
  schema.parquet = parquet;
  for (const auto& field : found.fields()) {
    if (field->name() == kEmbeddingColumn) {
      schema.descr = descr_of(*field->type());
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
      : file_(file, {.parquet = parquet,
                     .path = path,
                     .column = kEmbeddingColumn,
                     .values = ColumnRequest::Values::kVectors}),
        source_(parquet ? open_parquet(file_) : open_ipc(file_)),
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
    if (descr_of(*array_->type()) != schema_.descr)
      file_.refuse_damage("vectors of another type than the schema states");
    const auto& lists = checked_cast<const arrow::FixedSizeListArray&>(*array_);
    const std::shared_ptr<arrow::Array>& values = lists.values();
    if (lists.list_type()->list_size() != schema_.items || lists.null_count() > 0 ||
        values->null_count() > 0)
      file_.refuse_damage("a vector without a value, or of another size");
    const int64_t item_bytes = npy_item_bytes(schema_.descr);
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

std::shared_ptr<arrow::DataType> vector_type(const std::string& descr, int64_t items) {
  std::shared_ptr<arrow::DataType> item = arrow::float32();
  if (descr == "<f2") item = arrow::float16();
  if (descr == "|i1") item = arrow::int8();
  if (descr == "|u1") item = arrow::uint8();
  return arrow::fixed_size_list(arrow::field("item", item, /*nullable=*/false),
                                static_cast<int32_t>(items));
}

std::string descr_of(const arrow::DataType& type) {
  if (type.id() != arrow::Type::FIXED_SIZE_LIST) return "";
  const auto& list = checked_cast<const arrow::FixedSizeListType&>(type);
  if (list.list_size() < 1) return "";
  const arrow::Type::type id = list.value_type()->id();
  const auto* const found = std::find_if(kItemTypes.begin(), kItemTypes.end(),
                                         [id](const ItemType& item) { return item.id == id; });
  return found == kItemTypes.end() ? "" : std::string(found->descr);
}

std::unique_ptr<VectorReader> make_vector_reader(ByteFile& file, bool parquet,
                                                 const std::string& path) {
  return std::make_unique<TableVectors>(file, parquet, path);
}

}  // namespace encode
