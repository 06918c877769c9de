// Quantized matrices whose ranges come from the rows of all shards. No shard knows these ranges, so
// the parts stay float32 until `encode merge` converts them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "encode/config.h"

#include "store/quantize.h"

namespace encode {

// Returns true if the type of the matrices needs ranges and the config has no file with them. Any
// thread may call it. It throws no Error.
bool quantizes_at_merge(const RunConfig& config);

// The ranges of the streams over the rows of all shards. Thread-safe, except for all().
class RangesOfParts {
 public:
  explicit RangesOfParts(const std::vector<int64_t>& dims);  // of the streams
  // Adds the ranges of each stream in a shard. Every shard must be added once, in any order. The
  // result is that of the ascending order: of equal values (0.0 and -0.0) the first one counts.
  void add(int64_t shard, std::vector<Ranges> ranges);
  const std::vector<Ranges>& all() const { return all_; }

 private:
  std::mutex mutex_;
  std::vector<Ranges> all_;                            // of the shards below next_
  std::map<int64_t, std::vector<Ranges>> later_ = {};  // those that came before their turn
  int64_t next_ = 0;
};

}  // namespace encode
