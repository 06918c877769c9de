#include "encode/vector_rows.h"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <utility>

#include "base/json.h"
#include "base/units.h"
#include "store/layout.h"
#include "store/parts_list.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// Returns the hash of the first part, which the fingerprint of a combined matrix has.
std::string hash_of_first_part(const Manifest& combined, const std::string& where) {
  const Json fingerprint = Json::parse(combined.identity.fingerprint);
  const Json parts = fingerprint.value("combined", Json::array());
  if (!parts.is_array() || parts.empty())
    throw damage("the fingerprint of a combined matrix names no parts", where, "its parts", "none");
  return JsonFields(parts.front(), where, "store.damaged").string("xxh3_128");
}

VectorRows rows_of_first_part(const std::string& path, const Manifest& combined) {
  const std::string part_path = part_beside(path, combined.parts.front());
  const std::optional<Manifest> part = read_manifest(part_path);
  if (!part)
    throw damage("a part is missing that has the list of the dropped rows", part_path,
                 fmt::format("the first part of {}", path), "no manifest");
  const std::string expected = hash_of_first_part(combined, path);
  if (!part->parts.empty() || part->xxh3_128 != expected ||
      part->identity.rows != combined.identity.rows || part->dropped_rows != combined.dropped_rows)
    throw damage("a combined matrix was made from another matrix", part_path,
                 fmt::format("{} rows, {} of them dropped, XXH3-128 {}", combined.identity.rows,
                             combined.dropped_rows, expected),
                 fmt::format("{} rows, {} of them dropped, XXH3-128 {}", part->identity.rows,
                             part->dropped_rows, part->xxh3_128));
  return read_vector_rows(part_path, *part);
}

VectorRows rows_of_parts(const std::string& list_path) {
  const PartsList list = read_parts_list(list_path);
  const std::vector<Manifest> manifests = read_part_manifests(list_path, list);
  std::vector<int64_t> dropped;
  for (size_t i = 0; i < manifests.size(); ++i) {
    const VectorRows rows = read_vector_rows(part_path(list_path, list.parts[i]), manifests[i]);
    dropped.insert(dropped.end(), rows.dropped().begin(), rows.dropped().end());
  }
  return {list.identity.range(), std::move(dropped), list_path};
}

}  // namespace

VectorRows::VectorRows(RowRange range, std::vector<int64_t> dropped, const std::string& where)
    : range_(range), dropped_(std::move(dropped)) {
  const bool ascending = std::adjacent_find(dropped_.begin(), dropped_.end(),
                                            std::greater_equal<>()) == dropped_.end();
  if (ascending &&
      (dropped_.empty() || (dropped_.front() >= range_.begin && dropped_.back() < range_.end)))
    return;
  throw damage("the list of the dropped rows is not one of this matrix", where,
               fmt::format("ascending rows from {} to {}", range_.begin, range_.end - 1),
               fmt::format("{}, from {} to {}", format_count(std::ssize(dropped_), "row", "rows"),
                           dropped_.front(), dropped_.back()));
}

int64_t VectorRows::row_of(int64_t vector) const {
  const int64_t row = range_.begin + vector;  // the row, if no row before it was dropped
  // Binary search: dropped_[i] - i is the row that dropped_[i] would be without the i dropped rows
  // before it.
  int64_t before = 0;  // the number of dropped rows before the row
  for (int64_t end = std::ssize(dropped_); before < end;) {
    const int64_t middle = std::midpoint(before, end);
    if (dropped_[static_cast<size_t>(middle)] - middle <= row) {
      before = middle + 1;
    } else {
      end = middle;
    }
  }
  return row + before;
}

std::optional<int64_t> VectorRows::vector_of(int64_t row) const {
  if (row < range_.begin || row >= range_.end) return std::nullopt;
  const auto next = std::lower_bound(dropped_.begin(), dropped_.end(), row);
  if (next != dropped_.end() && *next == row) return std::nullopt;
  return row - range_.begin - (next - dropped_.begin());
}

std::vector<int64_t> row_numbers(const std::vector<SetAsideRow>& rows) {
  std::vector<int64_t> numbers;
  for (const SetAsideRow& row : rows) numbers.push_back(row.row);
  return numbers;
}

VectorRows read_vector_rows(const std::string& matrix_path, const Manifest& manifest) {
  if (manifest.dropped_rows == 0) return {manifest.identity.range(), {}, matrix_path};
  if (is_parts_list(matrix_path)) return rows_of_parts(matrix_path);
  if (!manifest.parts.empty()) return rows_of_first_part(matrix_path, manifest);
  return {manifest.identity.range(), row_numbers(set_aside_rows(matrix_path, manifest)),
          set_aside_path(matrix_path)};
}

}  // namespace encode
