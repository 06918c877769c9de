// How many tokens are in a batch, and how many rows are in a matrix product. Any thread may call
// these functions. They throw no Error.
#pragma once

#include <cstdint>
#include <string>

#include "encode/config.h"
#include "encode/device.h"

namespace encode {

// All numbers are tokens, except `batches_at_once`. `budget_tokens` changes the speed and the
// memory of a run, and never its result. `launch_tokens` decides the bits of the result on a GPU,
// so it is part of the fingerprint.
struct BatchPlan {
  // The most tokens in a batch. A batch with a longer row has room for the next multiple.
  int64_t budget_tokens = 0;
  // The number of rows in each launch of a matrix product on a GPU: a larger batch is computed in
  // several launches. As all launches have the same size, the library uses the same kernel for all
  // of them, and the bits of a row do not depend on its batch. `budget_tokens` is a multiple of
  // `launch_tokens`. On a CPU a product takes any number of rows, and `launch_tokens` is 0.
  int64_t launch_tokens = 0;
  int64_t longest_row_tokens = 0;  // rows are cut at this length: EffectiveResult::max_length
  int64_t batches_at_once = 1;     // computed in parallel: one for each CPU thread, one on a GPU

  bool operator==(const BatchPlan&) const = default;
};

// Returns the number of rows in a matrix product on a GPU for a model of this width, a power of two
// from 2,048 to 16,384. It is the same for every GPU, so that the fingerprint can contain it before
// the device is known.
int64_t launch_tokens(int64_t hidden_size);

// Returns the plan for one stream. SpeedOptions::batch_tokens and SpeedOptions::batch_size both
// limit the budget; batch_size stands for that number of rows of `longest_row_tokens`. On a CPU the
// budget is at most 512 tokens. On a GPU it is rounded down to whole launches, but is at least one
// launch. The caller passes `launch_tokens` and `longest_row_tokens` from EffectiveResult.
BatchPlan plan_batches(const SpeedOptions& speed, int64_t launch_tokens, int64_t longest_row_tokens,
                       const DeviceFacts& device);

// Returns `plan` with half the budget, for a device that ran out of memory. The budget stays a
// whole number of launches. Returns `plan` unchanged if the budget cannot be halved any further.
BatchPlan halved(const BatchPlan& plan);

// Returns "batches of at most 16,384 tokens (4,096 at a time on the GPU), rows of at most 512".
std::string describe(const BatchPlan& plan);

// Returns the least number of tokens that one call of Encoder::encode() should get. With fewer
// tokens, too much time is lost at the end of a call, where threads wait for each other and the
// last launch may not be full.
int64_t window_tokens(const BatchPlan& plan);

// Returns how many batches of the next window are launched on a GPU before the last batch of a
// window has come back. The device computes them while the host checks the window and hands it
// over. With the fastest models this takes as long as two to four batches (docs/gpu-roofline.md has
// the table). If every token has a vector, the host takes longer than the device, so one batch is
// enough.
constexpr int64_t batches_ahead(bool token_embeddings) { return token_embeddings ? 1 : 4; }
// Returns the most batches whose token ids and vectors are in pinned memory at a time: the
// batches_ahead(), and the last batch of the current window.
constexpr int64_t pinned_batches(bool token_embeddings) {
  return batches_ahead(token_embeddings) + 1;
}

// Returns the most rows in a part of a window whose texts may have `text_bytes`. A window with this
// many rows takes no other chunk. 4096 rows are enough to fill the batches, and few enough for the
// memory. If the user gives more memory than the default, a window has a row for each 4 KiB of
// text.
int64_t window_rows(int64_t text_bytes);
// The most chunks in a window. When the run is stopped, it first commits all chunks of the window,
// one after the other.
inline constexpr int64_t kWindowChunks = 64;
// The text of one window gets 1/16 of SpeedOptions::prefetch_bytes. kWindowsAtOnce windows exist at
// a time (one is read, two are queued, one is encoded), and each takes memory as text, as token ids
// and as packed batches.
inline constexpr int64_t kWindowTextShares = 16;
inline constexpr int64_t kWindowsAtOnce = 4;

}  // namespace encode
