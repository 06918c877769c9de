#include "plan/padding.h"

#include <algorithm>
#include <numeric>

namespace encode {

PaddingCost padding_cost(std::span<const int32_t> sample, int64_t batch_rows, int64_t max_length) {
  const auto real = std::accumulate(sample.begin(), sample.end(), int64_t{0});
  if (real == 0) return {};
  int64_t longest = 0;
  const auto size = static_cast<size_t>(std::max<int64_t>(1, batch_rows));
  for (size_t begin = 0; begin < sample.size(); begin += size) {
    const auto batch = sample.subspan(begin, std::min(size, sample.size() - begin));
    longest += *std::max_element(batch.begin(), batch.end()) * std::ssize(batch);
  }
  const auto ratio = [real](int64_t positions) {
    return static_cast<double>(positions) / static_cast<double>(real);
  };
  return {.longest = ratio(longest), .max_length = ratio(max_length * std::ssize(sample))};
}

}  // namespace encode
