#include "store/verify/combined_check.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <vector>

#include "encode/error.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "columnar/matrix_reader.h"
#include "store/layout.h"

namespace encode {
namespace {

void check_parts(const std::string& path, const std::vector<std::string>& part_names,
                 Findings& findings) {
  const std::unique_ptr<MatrixReader> combined_matrix = open_matrix_reader(path, Elements::kAny);
  MatrixReader& combined = *combined_matrix;
  std::vector<std::unique_ptr<MatrixReader>> parts;
  int64_t row_bytes = 0;
  for (const std::string& name : part_names) {
    const std::string part_path = part_beside(path, name);
    if (!path_exists(part_path, "npy.open")) {
      return findings.warn("parts", "the parts of the combined matrix beside it",
                           "a part is missing", part_path);
    }
    const MatrixReader& part = *parts.emplace_back(open_matrix_reader(part_path, Elements::kAny));
    row_bytes += part.row_bytes();
    const auto text = [](const MatrixReader& matrix) {
      return fmt::format("{} of {}", format_count(matrix.rows(), "row", "rows"),
                         matrix.item_word());
    };
    if (text(part) != text(combined))
      return findings.check("parts", false, {.expected = text(combined), .found = text(part)},
                            part_path);
  }
  if (row_bytes == 0 || row_bytes != combined.row_bytes()) {
    return findings.check("parts", false,
                          {.expected = fmt::format("{} bytes in a row", row_bytes),
                           .found = fmt::format("{} bytes", combined.row_bytes())},
                          path);
  }
  const int64_t block_rows = combined.block_rows();
  for (int64_t first = 0; first < combined.rows(); first += block_rows) {
    const std::span<const std::byte> values = combined.next_bytes(block_rows);
    int64_t column = 0;
    for (const std::unique_ptr<MatrixReader>& part : parts) {
      const std::span<const std::byte> columns = part->next_bytes(block_rows);
      const auto rows = static_cast<int64_t>(values.size()) / row_bytes;
      for (int64_t row = 0; row < rows; ++row) {
        const bool same = std::memcmp(values.data() + row * row_bytes + column,
                                      columns.data() + row * part->row_bytes(),
                                      static_cast<size_t>(part->row_bytes())) == 0;
        if (same) continue;
        return findings.check("parts", false,
                              {.expected = "the columns of its parts",
                               .found = fmt::format("row {} differs", first + row)},
                              fmt::format("{} compared with {}", path, part->path()));
      }
      column += part->row_bytes();
    }
  }
  findings.check("parts", true, {.expected = "the columns of its parts", .found = "the same"});
}

}  // namespace

void check_combined(const std::string& path, const Manifest& manifest, Findings& findings) {
  if (manifest.parts.empty()) return;
  try {
    check_parts(path, manifest.parts, findings);
  } catch (const Error& error) {
    if (!tells_about_the_file(error)) throw;
    findings.check("parts", false,
                   {.expected = "parts that can be read", .found = error.detail().what},
                   error.detail().where);
  }
}

}  // namespace encode
