#include "job/batch_loop.h"

#include <algorithm>
#include <fmt/format.h>

#include "encode/error.h"

#include "base/units.h"
#include "batching/repack.h"
#include "job/tokenize_plan.h"

namespace encode {
namespace {

// After this number of consecutive sequences that do not fit on the device, the loop assumes that
// none fits, and gives up.
constexpr int64_t kMostTooLarge = 8;

// Returns a flag (false) for each sequence up to the last one of the batches.
std::vector<bool> no_sequence_marked(std::span<const PackedBatch> batches) {
  int64_t count = 0;
  for (const PackedBatch& batch : batches) {
    for (const int64_t number : batch.sequence_numbers) count = std::max(count, number + 1);
  }
  return std::vector<bool>(static_cast<size_t>(count));
}

// `batch` has one sequence.
FailedSequence refused_sequence(const PackedBatch& batch, const ErrorDetail& error) {
  return {.place = packed_sequences({&batch, 1}).front(),
          .code = error.code,
          .message =
              fmt::format("{} ({})", error.what, format_count(batch.tokens(), "token", "tokens"))};
}

}  // namespace

BatchLoop::BatchLoop(const WorkerContext& context, int64_t unit, Encoder& encoder)
    : context_(context),
      number_(unit),
      encoder_(encoder),
      plan_(batch_plan_of(context.unit(unit), encoder.device())),
      first_budget_(plan_.budget_tokens) {}

std::optional<std::vector<FailedSequence>> BatchLoop::run(
    std::span<const PackedBatch> batches, std::span<float> values, const Encoder::OnBatch& done,
    const Encoder::NextBatches& next_batches) {
  std::vector<bool> encoded = no_sequence_marked(batches);
  std::vector<FailedSequence> refused;
  std::vector<PackedBatch> packed_again;
  std::span<const PackedBatch> left = batches;
  bool alone = false;  // each batch has one sequence and is encoded by itself
  const auto pack_again = [&] {
    const auto is_encoded = [&](int64_t number) { return encoded[static_cast<size_t>(number)]; };
    packed_again =
        alone ? one_by_one(batches, is_encoded) : repack(batches, plan_.budget_tokens, is_encoded);
    left = packed_again;
  };
  const auto on_batch = [&](const PackedBatch& batch) {
    for (const int64_t number : batch.sequence_numbers) encoded[static_cast<size_t>(number)] = true;
    too_large_ = 0;
    tried_again_ = false;
    return done(batch);
  };
  if (plan_.budget_tokens < first_budget_) pack_again();
  while (!left.empty()) {
    const size_t count = alone ? 1 : left.size();
    // If this window was packed again, the next call of run() packs its window again too. The next
    // batches as they are now must then not be launched.
    const bool packed_once = left.data() == batches.data();
    try {
      if (!encoder_.encode_ahead(left.first(count), values, on_batch,
                                 packed_once ? next_batches : Encoder::NextBatches()))
        return std::nullopt;
      left = left.subspan(count);
    } catch (...) {
      const Failure failure = current_failure();
      const Next next = next_after(failure, alone);
      if (next == Next::kRefuse) {
        refused.push_back(refused_sequence(left.front(), failure.error));
        left = left.subspan(1);
      } else {
        alone = next == Next::kAlone;
        pack_again();
      }
    }
  }
  return refused;
}

// Must be called in a catch block. Throws the exception again if the worker cannot go on.
BatchLoop::Next BatchLoop::next_after(const Failure& failure, bool alone) {
  switch (failure.kind) {
    case FailureKind::kNvml:
      if (nvml_failed_) throw;
      nvml_failed_ = true;
      [[fallthrough]];
    case FailureKind::kOutOfDeviceMemory:
      encoder_.release_cached_memory();
      if (!alone) return after_lack_of_memory();
      if (++too_large_ >= kMostTooLarge) throw Error(failure.error);
      return Next::kRefuse;
    case FailureKind::kOther:
      // The encoder has refused a sequence of the batch. Only a batch of one sequence says which.
      if (failure.error.exit_code != ExitCode::kData) throw;
      return alone ? Next::kRefuse : Next::kAlone;
    case FailureKind::kDeviceLost:
      break;
  }
  throw;
}

// Decides what follows when a batch of several sequences did not fit.
BatchLoop::Next BatchLoop::after_lack_of_memory() {
  const BatchPlan half = halved(plan_);
  if (half.budget_tokens < plan_.budget_tokens) {
    plan_ = half;
    context_.events.send(BatchHalved{.unit = number_, .budget_tokens = plan_.budget_tokens});
    return Next::kPackAgain;
  }
  if (tried_again_) return Next::kAlone;
  tried_again_ = true;
  context_.log(LogLevel::kWarning,
               fmt::format("{}: the device is out of memory; the batch is tried again",
                           context_.unit(number_).identity.name));
  return Next::kPackAgain;
}

}  // namespace encode
