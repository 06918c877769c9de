#include "arrow_files.h"

#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#include <stdexcept>
#include <utility>

namespace encode::testing {
namespace {

void check(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <typename T>
T taken(arrow::Result<T> result) {
  check(result.status());
  return std::move(result).ValueUnsafe();
}

}  // namespace

std::shared_ptr<arrow::Array> text_array(const Texts& texts,
                                         const std::shared_ptr<arrow::DataType>& type) {
  const auto builder = taken(arrow::MakeBuilder(type));
  for (const auto& text : texts) {
    if (!text) {
      check(builder->AppendNull());
    } else if (type->id() == arrow::Type::STRING_VIEW) {
      check(static_cast<arrow::StringViewBuilder&>(*builder).Append(*text));
    } else if (type->id() == arrow::Type::LARGE_STRING) {
      check(static_cast<arrow::LargeStringBuilder&>(*builder).Append(*text));
    } else {
      check(static_cast<arrow::StringBuilder&>(*builder).Append(*text));
    }
  }
  return taken(builder->Finish());
}

std::shared_ptr<arrow::Array> ids_array(const IdRows& rows,
                                        const std::shared_ptr<arrow::DataType>& type) {
  const auto builder = taken(arrow::MakeBuilder(type));
  const auto begin_row = [&]() -> arrow::ArrayBuilder& {
    if (type->id() == arrow::Type::FIXED_SIZE_LIST) {
      auto& lists = static_cast<arrow::FixedSizeListBuilder&>(*builder);
      check(lists.Append());
      return *lists.value_builder();
    }
    if (type->id() == arrow::Type::LARGE_LIST) {
      auto& lists = static_cast<arrow::LargeListBuilder&>(*builder);
      check(lists.Append());
      return *lists.value_builder();
    }
    auto& lists = static_cast<arrow::ListBuilder&>(*builder);
    check(lists.Append());
    return *lists.value_builder();
  };
  for (const auto& row : rows) {
    arrow::ArrayBuilder& values = begin_row();
    for (const auto& id : row) {
      const auto scalar =
          id ? taken(arrow::MakeScalar(values.type(), *id)) : arrow::MakeNullScalar(values.type());
      check(values.AppendScalar(*scalar));
    }
  }
  return taken(builder->Finish());
}

std::shared_ptr<arrow::Array> dictionary_array(const std::vector<int32_t>& indices,
                                               const std::shared_ptr<arrow::Array>& dictionary) {
  arrow::Int32Builder builder;
  for (const int32_t index : indices)
    check(index < 0 ? builder.AppendNull() : builder.Append(index));
  return taken(arrow::DictionaryArray::FromArrays(
      arrow::dictionary(arrow::int32(), dictionary->type()), taken(builder.Finish()), dictionary));
}

std::shared_ptr<arrow::Table> table_of(const std::shared_ptr<arrow::Array>& column) {
  arrow::Int64Builder numbers;
  arrow::StringBuilder words;
  for (int64_t row = 0; row < column->length(); ++row) {
    check(numbers.Append(row));
    check(words.Append("word"));
  }
  return arrow::Table::Make(
      arrow::schema({arrow::field("id", arrow::int64()), arrow::field("text", column->type()),
                     arrow::field("other", arrow::utf8())}),
      {taken(numbers.Finish()), column, taken(words.Finish())});
}

std::string file_of(const arrow::Table& table, Container container, const Writing& writing) {
  const auto sink = taken(arrow::io::BufferOutputStream::Create());
  const auto codec =
      writing.compressed ? arrow::Compression::ZSTD : arrow::Compression::UNCOMPRESSED;
  if (container == Container::kParquet) {
    auto properties = parquet::WriterProperties::Builder();
    properties.compression(codec);
    if (writing.checksums) properties.enable_page_checksum();
    auto conversion = parquet::ArrowWriterProperties::Builder();
    if (writing.store_schema) conversion.store_schema();
    check(parquet::arrow::WriteTable(table, arrow::default_memory_pool(), sink, writing.group_rows,
                                     properties.build(), conversion.build()));
  } else {
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    if (writing.compressed) options.codec = taken(arrow::util::Codec::Create(codec));
    const auto writer = taken(container == Container::kIpcFile
                                  ? arrow::ipc::MakeFileWriter(sink, table.schema(), options)
                                  : arrow::ipc::MakeStreamWriter(sink, table.schema(), options));
    check(writer->WriteTable(table, writing.group_rows));
    check(writer->Close());
  }
  return taken(sink->Finish())->ToString();
}

std::string container_name(const ::testing::TestParamInfo<Container>& tested) {
  if (tested.param == Container::kParquet) return "Parquet";
  return tested.param == Container::kIpcFile ? "IpcFile" : "IpcStream";
}

std::string suffix_of(Container container) {
  return container == Container::kParquet ? ".parquet" : ".arrow";
}

}  // namespace encode::testing
