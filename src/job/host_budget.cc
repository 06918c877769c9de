#include "job/host_budget.h"

#include <algorithm>

namespace encode {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
constexpr int64_t kPercent = 100;
// The activations of a batch that exist at the same time, in units of [tokens, dim]: the input, the
// residual, the fused projection (3), the context, the widest product (4 to 6), and what the
// allocator adds by rounding up.
constexpr int64_t kActivations = 16;
// A window may exceed its size by its last row. There may be several windows, and the reader, the
// texts, the token ids and the batches each have a copy of such a row: at most this number of
// copies.
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
