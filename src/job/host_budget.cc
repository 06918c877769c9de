#include "job/host_budget.h"

#include <algorithm>

namespace encode {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
constexpr int64_t kPercent = 100;
// The activations of a batch that exist at a time, as a multiple of [tokens, dim]: input, residual,
// the fused projection (3), the context, and the widest product (4 to 6), with what the allocator
// rounds up.
constexpr int64_t kActivations = 16;
// A window may exceed its size by its last row. With several windows at a time, such rows exist in
// at most this number of copies: in the reader, as text, as token ids and in batches.
constexpr int64_t kRowCopies = 16;
constexpr int64_t kLeastBytes = int64_t{1} << 20;

}  // namespace

HostBudget plan_host_budget(const MemoryNeeds& needs) {
  const int64_t mark = needs.limit_bytes / kPercent * needs.pressure_percent;
  int64_t rest = std::max<int64_t>(0, mark - needs.used_bytes) / needs.workers;
  const auto take = [&rest](int64_t bytes, int64_t most) {
    const int64_t taken = std::min(bytes, most);
    rest -= taken;
    return taken;
  };
  take(needs.threads * needs.batch_tokens * needs.dim * kFloatBytes * kActivations, rest);
  take(needs.longest_row_bytes * kRowCopies, rest);
  HostBudget budget;
  budget.pinned_bytes = take(needs.pinned_bytes, rest);
  budget.cache_bytes = take(needs.cache_bytes, rest / 2);
  // Texts exist for only one window at a time. Token ids and batches exist for four windows, and
  // take about three times the bytes of the texts.
  budget.vector_bytes = std::max(rest / 2, kLeastBytes);
  budget.text_bytes = std::max(rest / 8, kLeastBytes);
  budget.token_bytes = std::max(rest / 2 - rest / 8, kLeastBytes);
  return budget;
}

}  // namespace encode
