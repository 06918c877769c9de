// How the rows of a stream become batches, and batches launches.
#pragma once

#include <cstdint>
#include <string>

#include "encode/config.h"
#include "encode/device.h"

namespace encode {

// All numbers are tokens. A plan changes the speed and the memory of a run and never a bit of its
// result: `launch_tokens` is part of the fingerprint, `budget_tokens` is not.
struct BatchPlan {
  // A batch holds this many tokens at most. A single row that is longer gets a batch of its own.
  int64_t budget_tokens = 0;
  // On a GPU every matrix product has exactly this many rows, so that the library takes the same
  // kernel for each of them, and a row's bits do not depend on its batch. The budget is a multiple
  // of it. On a CPU a product takes any number of rows, and this is 0.
  int64_t launch_tokens = 0;
  int64_t longest_row_tokens = 0;  // where rows are cut: EffectiveResult::max_length
  int64_t batches_at_once = 1;     // computed side by side: one for each CPU thread, one on a GPU

  bool operator==(const BatchPlan&) const = default;
};

// The rows of a matrix product on a GPU for a model of this width: a power of two, the same for
// every GPU, so that it can be part of the fingerprint before a device is known.
int64_t launch_tokens(int64_t hidden_size);

// The plan for one stream. SpeedOptions::batch_tokens is an upper bound, and batch_size is another
// one: the tokens of that many rows of the longest length. On a CPU no batch is larger than 512
// tokens whatever the options allow. On a GPU the budget is rounded down to whole launches, and is
// one launch at least. `launch_tokens` and `longest_row_tokens` are those of EffectiveResult.
BatchPlan plan_batches(const SpeedOptions& speed, int64_t launch_tokens, int64_t longest_row_tokens,
                       const DeviceFacts& device);

// A plan with half the budget, for a device that ran out of memory: whole launches, one at least.
// It gives `plan` back when there is nothing left to halve.
BatchPlan halved(const BatchPlan& plan);

// "batches of at most 16,384 tokens in launches of 4,096, rows of at most 512".
std::string describe(const BatchPlan& plan);

// Encoder::encode() should be given this many tokens at once, at least: at the end of a call the
// threads wait for each other, and the last launch may not be full.
int64_t window_tokens(const BatchPlan& plan);

}  // namespace encode
