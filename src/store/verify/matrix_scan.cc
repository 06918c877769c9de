#include "store/verify/matrix_scan.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "encode/error.h"

#include "base/hash.h"
#include "base/non_finite.h"
#include "base/output_types.h"
#include "base/unit_norm.h"
#include "columnar/matrix_reader.h"
#include "store/matrix/stored_values.h"

namespace encode {
namespace {

constexpr size_t kExamples = 5;

void add_example(std::vector<int64_t>& rows, int64_t row) {
  if (rows.size() < kExamples) rows.push_back(row);
}

double norm_of(std::span<const float> row) {
  double sum = 0;
  for (const float value : row) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

// Returns nullopt for bits, because their norms mean nothing. Returns nullopt for integers if it is
// not known what they stand for; the checks of the manifest and of the ranges say what is missing.
std::optional<StoredValues> values_of(const MatrixReader& matrix) {
  try {
    StoredValues values = StoredValues::of_file(matrix);
    const bool bits = facts_of(values.type()).quantization == Quantization::kBinary;
    return bits ? std::nullopt : std::optional<StoredValues>(std::move(values));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Measures the rows of a matrix one after the other.
class RowScan {
 public:
  // Rows of quantized numbers are only nearly zero, or nearly of norm 1, so they are not counted.
  RowScan(MatrixScan& scan, OutputType type)
      : scan_(scan), exact_(facts_of(type).quantization == Quantization::kNone) {}

  void add(std::span<const float> values) {
    const int64_t row = row_++;
    if (find_non_finite(values)) {
      ++scan_.summary.non_finite_rows;
      return add_example(scan_.non_finite_examples, row);
    }
    const double norm = norm_of(values);
    norm_sum_ += norm;
    NormSummary& norms =
        scan_.summary.norms
            ? *scan_.summary.norms
            : scan_.summary.norms.emplace(NormSummary{.min = norm, .mean = 0, .max = norm});
    norms.min = std::min(norms.min, norm);
    norms.max = std::max(norms.max, norm);
    norms.mean = norm_sum_ / static_cast<double>(row_ - scan_.summary.non_finite_rows);
    if (!exact_) return;
    if (norm == 0) {
      ++scan_.summary.zero_rows;
      add_example(scan_.zero_examples, row);
    } else if (std::abs(norm - 1) > kUnitNormTolerance) {
      ++scan_.off_unit_rows;
      add_example(scan_.off_unit_examples, row);
    }
  }

 private:
  MatrixScan& scan_;
  bool exact_;
  int64_t row_ = 0;
  double norm_sum_ = 0;
};

}  // namespace

MatrixScan scan_matrix(const std::string& path, const VerifyOptions& options) {
  const std::unique_ptr<MatrixReader> reader = open_matrix_reader(path, Elements::kAny);
  Sha256 sha256;
  if (options.sha256) reader->also_hash(sha256);
  MatrixScan scan;
  const std::optional<StoredValues> values = values_of(*reader);
  RowScan rows(scan, values ? values->type() : OutputType::kFloat32);
  const auto dim = static_cast<size_t>(reader->dim());
  std::vector<float> buffer;
  for (auto bytes = reader->next_bytes(reader->block_rows()); !bytes.empty();
       bytes = reader->next_bytes(reader->block_rows())) {
    if (!values) continue;
    const std::span<const float> block = values->convert(bytes, buffer);
    for (size_t at = 0; at < block.size(); at += dim) rows.add(block.subspan(at, dim));
  }
  scan.summary.path = path;
  scan.summary.rows = reader->rows();
  scan.summary.dim = reader->dim();
  scan.summary.format = reader->format();
  scan.summary.columns = reader->columns();
  scan.summary.item = reader->item();
  scan.summary.file_bytes = reader->file_bytes();
  scan.summary.xxh3_128 = reader->xxh3_hex();
  if (options.sha256) scan.summary.sha256 = sha256.hex();
  return scan;
}

std::string list_rows(const std::vector<int64_t>& rows, int64_t total) {
  const std::string text = fmt::format("{} {}", total == 1 ? "row" : "rows", fmt::join(rows, ", "));
  const int64_t more = total - std::ssize(rows);
  return more > 0 ? fmt::format("{} and {} more", text, more) : text;
}

}  // namespace encode
