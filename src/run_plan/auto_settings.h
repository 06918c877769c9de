// Chooses the numbers for `batch_size: auto` and `batch_tokens: auto` when a run starts. Any thread
// may call the function. It throws no Error.
#pragma once

#include <optional>
#include <string>

#include "encode/config.h"

#include "run_plan/memory/memory_estimate.h"
#include "run_plan/memory/memory_refusal.h"

namespace encode {

// Sets those limits in `stream.speed` that `stream.auto_batch` names, at least one, and no other
// setting. `request` has the model and the texts of the stream. `gpu` is the
// card that will compute. If it is absent, the CPU computes, and the default batch is the best one.
// Returns what was chosen and why, for the log.
std::string choose_batches(StreamConfig& stream, const MemoryRequest& request,
                           const std::optional<MemoryLimit>& gpu);

}  // namespace encode
