#include "batching/duplicates.h"

#include <span>
#include <string_view>
#include <unordered_map>

namespace encode {
namespace {

std::string_view bytes_of(std::span<const int32_t> ids) {
  const void* data = ids.data();
  return {static_cast<const char*>(data), ids.size_bytes()};
}

}  // namespace

std::vector<DuplicateRow> find_duplicates(const TokenizedRows& rows) {
  std::vector<DuplicateRow> duplicates;
  std::unordered_map<std::string_view, int64_t> first_rows;
  first_rows.reserve(static_cast<size_t>(rows.size()));
  for (int64_t row = 0; row < rows.size(); ++row) {
    const std::span<const int32_t> ids = rows.row(row);
    if (ids.empty()) continue;
    const auto [found, is_first] = first_rows.emplace(bytes_of(ids), row);
    if (is_first) continue;
    const int64_t first = found->second;
    duplicates.push_back({.row = row,
                          .first = first,
                          .tokens = std::ssize(ids),
                          .token_offset = rows.offsets[static_cast<size_t>(row)],
                          .first_token_offset = rows.offsets[static_cast<size_t>(first)]});
  }
  return duplicates;
}

}  // namespace encode
