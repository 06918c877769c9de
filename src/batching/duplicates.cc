#include "batching/duplicates.h"

#include <span>
#include <string_view>
#include <unordered_map>

namespace encode {
namespace {

template <typename T>
std::string_view bytes_of(std::span<const T> values) {
  const void* data = values.data();
  return {static_cast<const char*>(data), values.size_bytes()};
}

// What decides the vectors of a sequence, as bytes.
struct Content {
  std::string_view ids;
  std::string_view spans;

  bool operator==(const Content&) const = default;
};

struct ContentHash {
  size_t operator()(const Content& content) const {
    return std::hash<std::string_view>()(content.ids);
  }
};

}  // namespace

std::vector<DuplicateRow> find_duplicates(const Sequences& sequences) {
  const SequenceVectors& vectors = sequences.vectors;
  std::vector<DuplicateRow> duplicates;
  std::unordered_map<Content, int64_t, ContentHash> first_rows;
  first_rows.reserve(static_cast<size_t>(sequences.ids.size()));
  for (int64_t row = 0; row < sequences.ids.size(); ++row) {
    const std::span<const int32_t> ids = sequences.ids.row(row);
    if (ids.empty()) continue;
    const Content content = {.ids = bytes_of(ids), .spans = bytes_of(vectors.spans_of(row))};
    const auto [found, is_first] = first_rows.emplace(content, row);
    if (is_first) continue;
    const int64_t first = found->second;
    duplicates.push_back({.row = row,
                          .first = first,
                          .tokens = std::ssize(ids),
                          .vectors = vectors.count(row),
                          .first_vector = vectors.first(row),
                          .first_vector_of_first = vectors.first(first)});
  }
  return duplicates;
}

}  // namespace encode
