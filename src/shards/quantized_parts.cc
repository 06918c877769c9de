#include "shards/quantized_parts.h"

#include <utility>

#include "base/output_types.h"

namespace encode {

bool quantizes_at_merge(const RunConfig& config) {
  const FinalFormat& format = config.store.final_format;
  return has_ranges(format.type) && format.ranges_file.empty();
}

RangesOfParts::RangesOfParts(const std::vector<int64_t>& dims) {
  for (const int64_t dim : dims) all_.emplace_back(dim);
}

void RangesOfParts::add(int64_t shard, std::vector<Ranges> ranges) {
  const std::lock_guard lock(mutex_);
  later_.emplace(shard, std::move(ranges));
  for (auto turn = later_.find(next_); turn != later_.end(); turn = later_.find(next_)) {
    for (size_t i = 0; i < all_.size(); ++i) all_[i].widen(turn->second[i]);
    later_.erase(turn);
    ++next_;
  }
}

}  // namespace encode
