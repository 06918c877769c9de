#include "job/skip_list.h"

#include <algorithm>

namespace encode {

std::vector<int64_t> skipped_tokens(const TokenizedRows& rows,
                                    const std::vector<int32_t>& skip_list) {
  std::vector<int64_t> positions;
  if (skip_list.empty()) return positions;
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    if (std::binary_search(skip_list.begin(), skip_list.end(), rows.ids[i]))
      positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

void erase_vectors(const std::vector<int64_t>& positions, int64_t dim, std::vector<float>& values) {
  if (positions.empty()) return;
  const auto vector_at = [&](int64_t position) { return values.begin() + position * dim; };
  auto kept_end = vector_at(positions.front());
  for (size_t i = 0; i < positions.size(); ++i) {
    const auto next = i + 1 < positions.size() ? vector_at(positions[i + 1]) : values.end();
    kept_end = std::copy(vector_at(positions[i] + 1), next, kept_end);
  }
  values.erase(kept_end, values.end());
}

}  // namespace encode
