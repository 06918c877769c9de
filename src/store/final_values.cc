#include "store/final_values.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "columnar/matrix_reader.h"
#include "store/convert_part.h"
#include "store/final.h"
#include "store/final_file.h"
#include "store/fingerprint/fingerprint.h"
#include "store/quantize.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

Ranges ranges_of(const FinalSource& source, const FinalFormat& format, int64_t dim) {
  if (source.ranges != nullptr) return *source.ranges;
  if (!format.ranges_file.empty()) return Ranges::read(format.ranges_file, dim);
  Ranges ranges(dim);
  source.rows([&ranges](std::span<const float> block) { ranges.widen(block); });
  return ranges;
}

void fill_source_rows(const FinalSource& source, const VectorRows& rows, SourceRowsWriter& writer) {
  if (source.fill_source_rows) return source.fill_source_rows(writer);
  const std::unique_ptr<ColumnSource> columns = source.columns();
  append_source_rows(*columns, rows, writer);
}

Manifest float32_manifest(const std::string& matrix_path) {
  std::optional<Manifest> manifest = read_manifest(matrix_path);
  if (!manifest || manifest->type != OutputType::kFloat32)
    throw damage("the matrix to convert is not a finished float32 matrix", matrix_path,
                 "a float32 matrix and its manifest", manifest ? "another type" : "no manifest");
  return std::move(*manifest);
}

// Writes the files beside a final matrix that have a fact of each row or passage.
class FilesBeside {
 public:
  FilesBeside(const std::string& matrix_path, const Manifest& manifest)
      : ledger_(ledger_path(matrix_path)), set_aside_(set_aside_path(matrix_path)) {
    const StreamIdentity& identity = manifest.identity;
    if (identity.passages) passages_.emplace(passages_path(matrix_path));
    if (identity.has_offsets()) offsets_.emplace(offsets_path(matrix_path), identity.rows);
    if (says_filtered(identity.fingerprint))
      source_rows_.emplace(source_rows_path(matrix_path), identity.rows - manifest.dropped_rows);
  }

  // Must be called before a table is begun, because the table reads the file of the passages.
  void fill(const FinalSource& source, const VectorRows& rows) {
    if (passages_) source.fill_passages(*passages_);
    source.fill_ledger(ledger_);
    if (offsets_) source.fill_offsets(*offsets_);
    if (source_rows_) fill_source_rows(source, rows, *source_rows_);
    set_aside_.append(source.set_aside);
  }

  std::string temp_path_of_passages() const { return passages_ ? passages_->temp_path() : ""; }

  BesideFinal writers() {
    return {.ledger = &ledger_,
            .offsets = offsets_ ? &*offsets_ : nullptr,
            .source_rows = source_rows_ ? &*source_rows_ : nullptr,
            .set_aside = set_aside_.empty() ? nullptr : &set_aside_,
            .passages = passages_ ? &*passages_ : nullptr};
  }

 private:
  LedgerWriter ledger_;
  LedgerWriter set_aside_;
  std::optional<PassagesWriter> passages_;
  std::optional<OffsetsWriter> offsets_;
  std::optional<SourceRowsWriter> source_rows_;
};

// Writes the rows in the type of `format`.
void write_rows(const FinalSource& source, const FinalFormat& format, const Quantizer& quantizer,
                FinalFile& writer) {
  std::vector<std::byte> bytes;
  source.rows([&](std::span<const float> block) {
    if (format.type == OutputType::kFloat32) return writer.append(block);
    quantizer.require_fit(block, writer.rows_written());
    quantizer.convert(block, bytes);
    writer.append_bytes(bytes);
  });
}

}  // namespace

std::string ranges_bytes_of_file(const FinalFormat& format, int64_t dim) {
  if (!has_ranges(format.type)) return "";
  return Ranges::read(format.ranges_file, dim).npy_bytes();
}

void write_final(const FinalSource& source, const std::string& matrix_path, Manifest manifest,
                 const FinalFormat& format) {
  create_directories_durably(parent_directory(matrix_path));
  remove_final_temp_files(matrix_path);
  const int64_t dim = manifest.identity.dim;
  manifest.type = format.type;
  manifest.columns = output_columns(format.type, dim);
  manifest.file = format.file;
  manifest.table_columns = format.columns;
  Ranges ranges(dim);
  std::string ranges_bytes;
  if (has_ranges(format.type)) {
    ranges = ranges_of(source, format, dim);
    ranges_bytes = ranges.npy_bytes();
    manifest.ranges_given = !format.ranges_file.empty();
  }
  const bool drops = manifest.quarantine == QuarantinePolicy::kDrop;
  const VectorRows rows(manifest.identity.range(),
                        drops ? row_numbers(source.set_aside) : std::vector<int64_t>(),
                        matrix_path);
  FilesBeside files(matrix_path, manifest);
  files.fill(source, rows);
  const FinalColumns columns = {.open = source.columns,
                                .rows = rows,
                                .passages = files.temp_path_of_passages(),
                                .of_vectors = source.columns_of_vectors};
  const std::unique_ptr<FinalFile> writer = begin_final_file(matrix_path, manifest, columns);
  write_rows(source, format, Quantizer(format.type, dim, ranges), *writer);
  BesideFinal beside = files.writers();
  beside.ranges_bytes = ranges_bytes;
  publish_final(*writer, std::move(manifest), beside);
}

void reformat_final(const std::string& float32_path, const std::string& matrix_path,
                    const FinalFormat& format, const ColumnOpener& columns) {
  convert_part(float32_path, matrix_path, {.format = format, .columns = columns});
}

Ranges ranges_of_rows(const std::string& float32_path) {
  const Manifest manifest = float32_manifest(float32_path);
  Ranges ranges(manifest.identity.dim);
  read_final_rows(float32_path, manifest,
                  [&ranges](std::span<const float> block) { ranges.widen(block); });
  return ranges;
}

void read_final_rows(const std::string& matrix_path, const Manifest& manifest,
                     const RowBlock& block) {
  const std::unique_ptr<MatrixReader> reader = open_matrix_reader(matrix_path, Elements::kFloat32);
  for (auto values = reader->next(reader->block_rows()); !values.empty();
       values = reader->next(reader->block_rows())) {
    block(values);
  }
  if (const std::string found = reader->xxh3_hex(); found != manifest.xxh3_128)
    throw damage("the matrix to convert is damaged", matrix_path, "XXH3-128 " + manifest.xxh3_128,
                 found);
}

void convert_part(const std::string& float32_path, const std::string& matrix_path,
                  const Conversion& conversion) {
  const Manifest manifest = float32_manifest(float32_path);
  const auto fill_ledger = [&](LedgerWriter& ledger) {
    if (manifest.ledger) ledger.append_file(ledger_path(float32_path), *manifest.ledger);
  };
  const auto fill_offsets = [&](OffsetsWriter& offsets) {
    if (manifest.offsets) offsets.append_file(offsets_path(float32_path), *manifest.offsets);
  };
  const auto fill_passages = [&](PassagesWriter& passages) {
    if (manifest.passages) passages.append_file(passages_path(float32_path), *manifest.passages);
  };
  // Absent in the matrix of a run without chunks.
  std::function<void(SourceRowsWriter&)> fill_source_rows;
  if (manifest.source_rows) {
    fill_source_rows = [&](SourceRowsWriter& writer) {
      writer.append_file(source_rows_path(float32_path), *manifest.source_rows);
    };
  }
  write_final(
      {.rows = [&](const RowBlock& block) { read_final_rows(float32_path, manifest, block); },
       .fill_ledger = fill_ledger,
       .fill_offsets = fill_offsets,
       .fill_passages = fill_passages,
       .set_aside = set_aside_rows(float32_path, manifest),
       .columns = conversion.columns,
       .columns_of_vectors = conversion.columns_of_vectors,
       .ranges = conversion.ranges,
       .fill_source_rows = fill_source_rows},
      matrix_path, manifest, conversion.format);
}

}  // namespace encode
