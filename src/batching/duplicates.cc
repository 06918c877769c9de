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

std::vector<DuplicateSequence> find_duplicates(const Sequences& sequences) {
  const SequenceVectors& vectors = sequences.vectors;
  std::vector<DuplicateSequence> duplicates;
  std::unordered_map<Content, int64_t, ContentHash> firsts;
  firsts.reserve(static_cast<size_t>(sequences.ids.size()));
  for (int64_t number = 0; number < sequences.ids.size(); ++number) {
    const std::span<const int32_t> ids = sequences.ids.row(number);
    if (ids.empty()) continue;
    const Content content = {.ids = bytes_of(ids), .spans = bytes_of(vectors.spans_of(number))};
    const auto [found, is_first] = firsts.emplace(content, number);
    if (is_first) continue;
    const int64_t first = found->second;
    duplicates.push_back({.number = number,
                          .first = first,
                          .tokens = std::ssize(ids),
                          .vectors = vectors.count(number),
                          .first_vector = vectors.first(number),
                          .first_vector_of_first = vectors.first(first)});
  }
  return duplicates;
}

}  // namespace encode
