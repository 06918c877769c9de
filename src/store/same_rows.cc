#include "store/same_rows.h"

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"
#include "encode/vector_rows.h"

#include "store/parts_list.h"

namespace encode {
namespace {

std::vector<int64_t> rows_without_vector(const std::string& path) {
  if (is_parts_list(path)) {
    Manifest merged;
    merged.dropped_rows = read_parts_list(path).dropped_rows;
    return merged.dropped_rows == 0 ? std::vector<int64_t>()
                                    : read_vector_rows(path, merged).dropped();
  }
  const std::optional<Manifest> manifest = read_manifest(path);
  if (!manifest || manifest->dropped_rows == 0) return {};
  return read_vector_rows(path, *manifest).dropped();
}

}  // namespace

void require_same_rows(const std::string& first_path, const std::string& path,
                       const RowsRefusal& refusal) {
  const std::vector<int64_t> expected = rows_without_vector(first_path);
  const std::vector<int64_t> found = rows_without_vector(path);
  if (found == expected) return;
  throw Error({.code = refusal.code,
               .what = refusal.what,
               .where = path,
               .expected = fmt::format("{} dropped rows, as in {}", expected.size(), first_path),
               .found = fmt::format("{} dropped rows, or other ones", found.size()),
               .hint = refusal.hint});
}

}  // namespace encode
