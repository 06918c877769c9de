#include "verify/matrix_scan.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <span>

#include "base/hash.h"
#include "base/non_finite.h"
#include "columnar/matrix_reader.h"
#include "matrix/elements.h"

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

// Returns rows of float32 or float16 as floats, and nothing for rows of integers, because verify
// reports no norms for integers.
std::span<const float> floats_of(std::span<const std::byte> bytes, const std::string& descr,
                                 std::vector<float>& buffer) {
  if (descr.find('f') == std::string::npos) return {};
  return as_floats(bytes, descr, buffer);
}

}  // namespace

MatrixScan scan_matrix(const std::string& path, const VerifyOptions& options) {
  const std::unique_ptr<MatrixReader> reader = open_matrix_reader(path, Elements::kAny);
  Sha256 sha256;
  if (options.sha256) reader->also_hash(sha256);
  MatrixScan scan;
  double norm_sum = 0;
  double norm_min = std::numeric_limits<double>::infinity();
  const auto dim = static_cast<size_t>(reader->dim());
  int64_t row = 0;
  std::vector<float> buffer;
  for (auto bytes = reader->next_bytes(reader->block_rows()); !bytes.empty();
       bytes = reader->next_bytes(reader->block_rows())) {
    const std::span<const float> block = floats_of(bytes, reader->descr(), buffer);
    for (size_t at = 0; at < block.size(); at += dim, ++row) {
      const std::span<const float> values = block.subspan(at, dim);
      if (find_non_finite(values)) {
        ++scan.summary.non_finite_rows;
        add_example(scan.non_finite_examples, row);
        continue;
      }
      const double norm = norm_of(values);
      norm_sum += norm;
      norm_min = std::min(norm_min, norm);
      scan.summary.norms.max = std::max(scan.summary.norms.max, norm);
      if (norm == 0) {
        ++scan.summary.zero_rows;
        add_example(scan.zero_examples, row);
      } else if (std::abs(norm - 1) > kUnitTolerance) {
        ++scan.off_unit_rows;
        add_example(scan.off_unit_examples, row);
      }
    }
  }
  const int64_t finite_rows = row - scan.summary.non_finite_rows;
  if (finite_rows > 0) {
    scan.summary.norms.min = norm_min;
    scan.summary.norms.mean = norm_sum / static_cast<double>(finite_rows);
  }
  scan.summary.path = path;
  scan.summary.rows = reader->rows();
  scan.summary.dim = reader->dim();
  scan.summary.format = reader->format();
  scan.summary.columns = reader->columns();
  scan.summary.dtype = reader->descr();
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
