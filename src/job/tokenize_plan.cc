#include "job/tokenize_plan.h"

#include <algorithm>

#include "base/host.h"

namespace encode {
namespace {

// The text of one window gets 1/16 of SpeedOptions::prefetch_bytes. Four windows exist at a
// time (one is read, two are queued, one is encoded), and each takes memory as text, as token ids
// and as packed batches.
constexpr int64_t kTextShares = 16;
// The memory for the vectors of one window if every token has a vector.
constexpr int64_t kVectorBytes = 128 << 20;

int64_t window_text_bytes(const JobUnit& unit) {
  const int64_t texts = std::max<int64_t>(unit.speed.prefetch_bytes / kTextShares, 1);
  if (!unit.identity.token_embeddings) return texts;
  // In usual text a token has about four bytes, the size of one float32. So kVectorBytes / dim
  // bytes of text give about kVectorBytes of vectors.
  return std::clamp<int64_t>(kVectorBytes / unit.identity.dim, 1, texts);
}

int64_t tokens_of_window(const JobUnit& unit, const BatchPlan& batches) {
  const int64_t tokens = window_tokens(batches);
  if (!unit.identity.token_embeddings) return tokens;
  return std::min(tokens, kVectorBytes / (unit.identity.dim * int64_t{sizeof(float)}));
}

// Returns the number of tokenizing threads. On a CPU one thread tokenizes, because the model needs
// the other cores.
int64_t tokenizer_threads(const SpeedOptions& speed, const BatchPlan& batches) {
  if (speed.tokenizer_threads > 0) return speed.tokenizer_threads;
  constexpr int64_t kEnoughForAnyGpu = 8;
  const bool on_cpu = batches.launch_tokens == 0;
  return on_cpu ? 1 : std::clamp<int64_t>(cpu_quota() - 2, 1, kEnoughForAnyGpu);
}

// Counts the tokens that a prompt takes at the start of a sequence: its own tokens and the special
// tokens before it, without the special token that ends the sequence. sentence-transformers counts
// in the same way.
int32_t prompt_tokens(const Tokenizer& tokenizer, const std::string& prompt) {
  if (prompt.empty()) return 0;
  TokenizedRows rows;
  tokenizer.encode(prompt, {.max_length = 0, .add_special_tokens = true}, rows);
  tokenizer.encode(prompt, {.max_length = 0, .add_special_tokens = false}, rows);
  const auto with = rows.row(0);
  const auto without = rows.row(1);
  const bool closed = !with.empty() && (without.empty() || with.back() != without.back());
  return static_cast<int32_t>(with.size()) - (closed ? 1 : 0);
}

}  // namespace

BatchPlan batch_plan_of(const JobUnit& unit, const DeviceFacts& device) {
  return plan_batches(unit.speed, unit.effective.launch_tokens, unit.effective.max_length, device);
}

TokenizePlan plan_tokenizing(const JobUnit& unit, const ModelDirectory& directory,
                             const Tokenizer* tokenizer, const BatchPlan& batches) {
  const EffectiveResult& effective = unit.effective;
  const bool all_pooled = effective.include_prompt || tokenizer == nullptr;
  return {.tokenizer = tokenizer,
          .options = {.max_length = batches.longest_row_tokens,
                      .add_special_tokens = directory.add_special_tokens},
          .prompt = effective.prompt,
          .prompt_tokens = all_pooled ? 0 : prompt_tokens(*tokenizer, effective.prompt),
          .batch_tokens = batches.budget_tokens,
          .window_text_bytes = window_text_bytes(unit),
          .window_tokens = tokens_of_window(unit, batches),
          .threads = tokenizer_threads(unit.speed, batches)};
}

}  // namespace encode
