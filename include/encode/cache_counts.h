// Counts what the embedding cache has done for a stream.
#pragma once

#include <cstdint>

namespace encode {

// Plain data. The row counts are sums over the windows and workers of a stream; the sizes are the
// latest values.
struct CacheCounts {
  // Rows that got the vector of an equal row of their window. They do not count as requests, and
  // they are also counted if the cache is off.
  int64_t deduplicated_rows = 0;
  int64_t requests = 0;       // rows that the cache was asked for
  int64_t row_hits = 0;       // found in the first tier in memory (L1)
  int64_t compact_hits = 0;   // found in the compact tier in memory, or on the way to disk (L2)
  int64_t disk_hits = 0;      // found on disk (L3)
  int64_t damaged_rows = 0;   // their records on disk were damaged; they were encoded
  int64_t stored_rows = 0;    // added to the cache
  int64_t row_bytes = 0;      // the size of L1
  int64_t compact_bytes = 0;  // the size of L2
  int64_t disk_bytes = 0;     // the size of the file of L3

  int64_t hits() const { return row_hits + compact_hits + disk_hits; }
  double hit_rate() const { return share(hits()); }
  double disk_load_ratio() const { return share(disk_hits); }  // the share of disk_hits in requests
  inline void add(const CacheCounts& later);
  bool operator==(const CacheCounts&) const = default;

 private:
  double share(int64_t rows) const {
    return requests > 0 ? static_cast<double>(rows) / static_cast<double>(requests) : 0;
  }
};

void CacheCounts::add(const CacheCounts& later) {
  for (auto count : {&CacheCounts::deduplicated_rows, &CacheCounts::requests,
                     &CacheCounts::row_hits, &CacheCounts::compact_hits, &CacheCounts::disk_hits,
                     &CacheCounts::damaged_rows, &CacheCounts::stored_rows})
    this->*count += later.*count;
  row_bytes = later.row_bytes;
  compact_bytes = later.compact_bytes;
  disk_bytes = later.disk_bytes;
}

}  // namespace encode
