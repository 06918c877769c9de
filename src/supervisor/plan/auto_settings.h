// Chooses the numbers for `batch_size: auto` and `batch_tokens: auto` when a run starts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"

#include "memory/memory_estimate.h"
#include "memory/refusal.h"

namespace encode {

// The settings of one stream. `notes` say what was chosen and why, for the log.
struct ChosenSettings {
  SpeedOptions speed = {};
  std::vector<std::string> notes = {};
};

// Replaces kAutoBatch in `speed`; every other setting stays as it is. `request` has the model and
// the texts of the stream. `gpu` is the card that will compute: if it is absent, the CPU computes,
// where the usual batch is the best one.
ChosenSettings choose_settings(const SpeedOptions& speed, const MemoryRequest& request,
                               const std::optional<MemoryLimit>& gpu);

}  // namespace encode
