// Plans the batches, the tokenizing and the windows of a unit.
#pragma once

#include <cstdint>
#include <string>

#include "encode/batch_plan.h"
#include "encode/job.h"
#include "encode/model_directory.h"
#include "encode/tokenizer.h"

namespace encode {

struct TokenizePlan {
  const Tokenizer* tokenizer = nullptr;  // null if every row is token ids
  TokenizeOptions options;
  std::string prompt;             // is put before every text
  int32_t prompt_tokens = 0;      // see PackedBatch
  int64_t batch_tokens = 0;       // BatchPlan::budget_tokens
  int64_t window_text_bytes = 0;  // a part of a window ends with the row that reaches this size
  int64_t window_tokens = 0;      // a window with fewer tokens takes another chunk
  int64_t threads = 1;            // the number of tokenizing threads
};

// Returns the batch plan of a unit on this device. Does not throw.
BatchPlan batch_plan_of(const JobUnit& unit, const DeviceFacts& device);

// Plans the tokenizing and the windows of a unit. `tokenizer` may be null, and must outlive the
// plan.
TokenizePlan plan_tokenizing(const JobUnit& unit, const ModelDirectory& directory,
                             const Tokenizer* tokenizer, const BatchPlan& batches);

}  // namespace encode
