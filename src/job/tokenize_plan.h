// Plans the batches, the tokenizing and the windows of a unit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "encode/batch_plan.h"
#include "encode/job.h"
#include "encode/model_directory.h"
#include "encode/tokenizer.h"

#include "cache/embedding_key.h"
#include "job/host_budget.h"
#include "job/pressure_guard.h"
#include "tokenizer/passages.h"

namespace encode {

// The size of a window. A plan has the usual size; windows are smaller while memory is short.
struct WindowSize {
  int64_t rows = 1;        // the most rows in a part of a window
  int64_t text_bytes = 0;  // a part of a window ends with the row that reaches this size
  // A window takes another chunk while it has fewer than this number of tokens and fewer than
  // `rows` rows. 0: each window has one part.
  int64_t tokens = 0;

  // Returns the size with each member multiplied by `share`, which is in (0, 1].
  WindowSize part(double share) const;
  bool operator==(const WindowSize&) const = default;
};

struct TokenizePlan {
  const Tokenizer* tokenizer = nullptr;  // null if every row is token ids
  TokenizeOptions options;
  RowTypeIds type_ids = {};             // Tokenizer::type_ids(); all 0 if every row is token ids
  std::vector<int32_t> skip_list = {};  // sorted ids, whose vectors are left out of the result
  // Cuts every text into passages; null: the texts are not cut.
  std::shared_ptr<const PassageCutter> cutter = {};
  std::string prompt;         // is put before every text, or every passage
  int32_t prompt_tokens = 0;  // see PackedBatch
  int64_t batch_tokens = 0;   // BatchPlan::budget_tokens
  WindowSize window;
  WindowSize least_window;         // the smallest one while memory is short
  int64_t threads = 1;             // the number of tokenizing threads
  int64_t vocab_size = 0;          // every token id must be below it; 0: ids are not checked
  PressureGuard* guard = nullptr;  // says whether memory is short; may be null
  // Makes the keys of the embedding cache, on the thread of the producer; null: there is no cache.
  KeyMaker* keys = nullptr;

  // Returns the size of the next window: `window`, or a smaller one while memory is short.
  WindowSize next_window() const;
};

// Returns the share of `threads` that this worker may use, at least 1. 0 stands for all processors
// of the container.
int64_t host_threads(const JobUnit& unit, int64_t threads);

// Returns the batch plan of a unit on this device. Does not throw.
BatchPlan batch_plan_of(const JobUnit& unit, const DeviceFacts& device);

// Plans the tokenizing and the windows of a unit, without a limit of the host's memory. `tokenizer`
// may be null, and must outlive the plan. Throws what skip_list_ids(), PassageCutter and
// require_room_after_prompt() throw, and Error kConfig "model.unsupported" if only a part of the
// rows is texts and the tokens of texts have types other than 0.
TokenizePlan plan_tokenizing(const JobUnit& unit, const ModelDirectory& directory,
                             const Tokenizer* tokenizer, const BatchPlan& batches);

// Returns the size of the windows of a unit: what its settings ask for, within the budget, times
// JobUnit::window_share.
WindowSize plan_window(const JobUnit& unit, const BatchPlan& batches, const HostBudget& budget);

}  // namespace encode
