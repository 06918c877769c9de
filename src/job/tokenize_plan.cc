#include "job/tokenize_plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/host.h"
#include "base/units.h"
#include "batching/passage_counts.h"
#include "batching/window_bytes.h"
#include "tokenizer/document_tokens.h"
#include "tokenizer/prompt_tokens.h"

namespace encode {
namespace {

// The memory for the vectors of one window if every token has a vector.
constexpr int64_t kVectorBytes = 128 << 20;
// The most memory that an empty row takes while it is read ahead: its Text, and its offsets in the
// window and in the batches. A usual row takes less, and the plan of a run counts with kRowBytes of
// run_plan/memory/cpu_memory.cc.
constexpr int64_t kRowAllowance = 256;
constexpr int64_t kTokenWindows = 4;
// Two windows of vectors exist at a time (one is encoded, one is written), and a window has up to
// twice the rows of its largest part.
constexpr int64_t kVectorShares = 4;

// Returns the size that the settings of the unit ask for.
WindowSize wanted_window(const JobUnit& unit, const BatchPlan& batches) {
  const double read_ahead = static_cast<double>(unit.speed.prefetch_bytes) * unit.host_share;
  const int64_t texts = std::max<int64_t>(static_cast<int64_t>(read_ahead) / kWindowTextShares, 1);
  WindowSize window = {
      .rows = window_rows(texts), .text_bytes = texts, .tokens = window_tokens(batches)};
  if (unit.effective.passages)
    window.text_bytes = bytes_without_overlap(*unit.effective.passages, texts);
  if (!unit.identity.token_embeddings) return window;
  // In usual text a token has about as many bytes as one float32. So kVectorBytes / dim bytes of
  // text give about kVectorBytes of vectors.
  static_assert(kTokenTextBytes == sizeof(float));
  window.text_bytes = std::clamp<int64_t>(kVectorBytes / unit.identity.dim, 1, texts);
  window.tokens =
      std::min(window.tokens, kVectorBytes / (unit.identity.dim * int64_t{sizeof(float)}));
  return window;
}

// Returns the smallest useful window: a smaller one would leave a thread or the GPU without a full
// batch. Short rows have about eight tokens.
WindowSize least_window(const BatchPlan& batches) {
  constexpr int64_t kShortRowTokens = 8;
  const int64_t tokens = batches.budget_tokens * batches.batches_at_once;
  return {.rows = std::max<int64_t>(tokens / kShortRowTokens, 1),
          .text_bytes = tokens * kTokenTextBytes,
          .tokens = tokens};
}

// Returns the number of tokenizing threads. On a CPU one thread tokenizes, because the model needs
// the other cores.
int64_t tokenizer_threads(const JobUnit& unit, const BatchPlan& batches) {
  const bool on_cpu = batches.launch_tokens == 0;
  if (unit.speed.tokenizer_threads > 0) return host_threads(unit, unit.speed.tokenizer_threads);
  constexpr int64_t kEnoughForAnyGpu = 8;
  return on_cpu ? 1 : std::clamp<int64_t>(host_threads(unit, 0) - 2, 1, kEnoughForAnyGpu);
}

// Returns the token types of the unit's rows. Rows of token ids have type 0. If texts have another
// type, equal ids would have two vectors, so an input with both kinds of rows is refused.
RowTypeIds unit_type_ids(const JobUnit& unit, const Tokenizer* tokenizer) {
  const bool has_texts = unit.scan.tokenized < unit.scan.rows;
  if (tokenizer == nullptr || !has_texts) return {};
  RowTypeIds types = tokenizer->type_ids();
  if (types.all_zero() || unit.scan.tokenized == 0) return types;
  throw Error({.code = "model.unsupported",
               .what = "the tokens of this model's texts have token types, and rows of token ids "
                       "have none",
               .where = unit.input.path,
               .expected = "only texts, or only rows of token ids",
               .found = fmt::format("{} of token ids among {}",
                                    format_count(unit.scan.tokenized, "row", "rows"),
                                    format_count(unit.scan.rows, "row", "rows")),
               .hint = "make two inputs, one for each kind of row"});
}

}  // namespace

int64_t host_threads(const JobUnit& unit, int64_t threads) {
  const int64_t all = threads_or_quota(threads);
  return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(all) * unit.host_share));
}

WindowSize WindowSize::part(double share) const {
  const auto of = [share](int64_t size) {
    return std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(size) * share), 1,
                               std::max<int64_t>(size, 1));
  };
  return {.rows = of(rows), .text_bytes = of(text_bytes), .tokens = tokens == 0 ? 0 : of(tokens)};
}

WindowSize TokenizePlan::next_window() const {
  if (guard == nullptr) return window;
  const WindowSize small = window.part(guard->window_share());
  const auto between = [](int64_t least, int64_t size, int64_t usual) {
    return std::min(std::max(least, size), usual);
  };
  return {.rows = between(least_window.rows, small.rows, window.rows),
          .text_bytes = between(least_window.text_bytes, small.text_bytes, window.text_bytes),
          .tokens = between(least_window.tokens, small.tokens, window.tokens)};
}

WindowSize plan_window(const JobUnit& unit, const BatchPlan& batches, const HostBudget& budget) {
  WindowSize window = wanted_window(unit, batches);
  int64_t vectors = std::max<int64_t>(
      budget.vector_bytes /
          (kVectorShares * std::max<int64_t>(unit.identity.dim, 1) * int64_t{sizeof(float)}),
      1);
  const int64_t texts = std::max<int64_t>(budget.read_ahead_bytes() / kWindowTextShares, 1);
  window.text_bytes = std::min(window.text_bytes, texts);
  window.rows = std::clamp<int64_t>(texts / kRowAllowance, 1, window.rows);
  window.tokens = std::min(window.tokens, budget.token_bytes / (kWindowTokenBytes * kTokenWindows));
  if (unit.identity.token_embeddings) {
    // A token of usual text has about as many bytes as one float32.
    window.text_bytes = std::min(window.text_bytes, vectors * int64_t{sizeof(float)});
    window.tokens = std::min(window.tokens, vectors);
  } else {
    // Half of the vectors are for the first passage of each row, and half for the other passages.
    if (unit.effective.passages) {
      vectors = std::max<int64_t>(vectors / 2, 1);
      window.text_bytes =
          std::min(window.text_bytes, vectors * new_text_bytes(*unit.effective.passages));
    }
    window.rows = std::min(window.rows, vectors);
  }
  return window.part(unit.window_share);
}

BatchPlan batch_plan_of(const JobUnit& unit, const DeviceFacts& device) {
  SpeedOptions speed = unit.speed;
  if (const auto limit = unit.budget_limits.find(device.name); limit != unit.budget_limits.end()) {
    speed.batch_tokens =
        speed.batch_tokens > 0 ? std::min(speed.batch_tokens, limit->second) : limit->second;
  }
  return plan_batches(speed, unit.effective.launch_tokens, unit.effective.max_length, device);
}

TokenizePlan plan_tokenizing(const JobUnit& unit, const ModelDirectory& directory,
                             const Tokenizer* tokenizer, const BatchPlan& batches) {
  const EffectiveResult& effective = unit.effective;
  std::vector<int32_t> skip_list;
  if (effective.late_interaction && tokenizer != nullptr)
    skip_list = skip_list_ids(*effective.late_interaction, *tokenizer, directory.path);
  const TokenizeOptions options = {.max_length = batches.longest_row_tokens,
                                   .add_special_tokens = directory.add_special_tokens};
  if (tokenizer != nullptr)
    require_room_after_prompt(*tokenizer, effective.prompt, options, directory.path);
  std::shared_ptr<const PassageCutter> cutter;
  if (effective.passages && tokenizer != nullptr)
    cutter = std::make_shared<PassageCutter>(
        PassageSettings{.tokenizer = *tokenizer,
                        .rule = *effective.passages,
                        .prompt = effective.prompt,
                        .frame = literal_frame(unit.input),
                        .add_special_tokens = options.add_special_tokens,
                        .window_tokens = options.max_length},
        directory.path);
  const bool all_pooled = effective.include_prompt || tokenizer == nullptr;
  return {.tokenizer = tokenizer,
          .options = options,
          .type_ids = unit_type_ids(unit, tokenizer),
          .skip_list = std::move(skip_list),
          .cutter = std::move(cutter),
          .prompt = effective.prompt,
          .prompt_tokens = all_pooled ? 0 : prompt_tokens(*tokenizer, effective.prompt),
          .batch_tokens = batches.budget_tokens,
          .window = plan_window(unit, batches, {}),
          .least_window = least_window(batches),
          .threads = tokenizer_threads(unit, batches),
          .vocab_size = directory.vocab_size};
}

}  // namespace encode
