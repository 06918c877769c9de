// Divides the host memory of a run among its parts.
#pragma once

#include <cstdint>
#include <limits>

namespace encode {

// What decides the budget of one worker. All numbers are at least 0.
struct MemoryNeeds {
  int64_t limit_bytes = 0;       // of the container, of the machine, or of the config
  int64_t used_bytes = 0;        // before the first window: model, supervisor, other programs
  int64_t pressure_percent = 0;  // the mark: the use should stay below this share of the limit
  int64_t workers = 1;           // at least 1; each gets an equal part
  int64_t threads = 0;           // compute threads on the host; 0 if a GPU computes
  int64_t batch_tokens = 0;      // the most tokens that a thread computes at once
  int64_t dim = 0;               // the width of a vector
  int64_t longest_row_bytes = 0;
  int64_t pinned_bytes = 0;  // what the encoder of a GPU pins for its copies
  int64_t cache_bytes = 0;   // what the caches would like to have
};

// The most bytes that the parts of one worker may hold at a time. A default-constructed object
// limits nothing.
struct HostBudget {
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max() / 4;
  int64_t text_bytes = kNoLimit;    // texts that are read and not yet tokenized
  int64_t token_bytes = kNoLimit;   // windows of token ids and of batches
  int64_t vector_bytes = kNoLimit;  // windows of vectors
  int64_t pinned_bytes = kNoLimit;
  int64_t cache_bytes = kNoLimit;

  int64_t read_ahead_bytes() const { return text_bytes + token_bytes; }
  bool operator==(const HostBudget&) const = default;
};

// Divides the memory that is free below the mark among the parts. If nothing is free, texts, tokens
// and vectors still get 1 MiB each, so that the work goes on. Does not throw.
HostBudget plan_host_budget(const MemoryNeeds& needs);

}  // namespace encode
