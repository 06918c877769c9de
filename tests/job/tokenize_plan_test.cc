#include "job/tokenize_plan.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace encode::testing {
namespace {

// The windows have the size that the settings ask for, but at most the size that the host's budget
// allows, times JobUnit::window_share.
TEST(PlanWindow, IsAsLargeAsTheSettingsAskForWithinTheBudget) {
  JobUnit unit;
  constexpr int64_t kMiB = int64_t{1} << 20;
  unit.identity.dim = 384;
  const BatchPlan batches{.budget_tokens = 512, .batches_at_once = 2};
  EXPECT_EQ(plan_window(unit, batches, {}),
            (WindowSize{.rows = 4096, .text_bytes = 16 * kMiB, .tokens = 16384}));
  unit.speed.prefetch_bytes = int64_t{1} << 40;
  EXPECT_EQ(plan_window(unit, batches, {}).rows, 16 * kMiB);
  const HostBudget budget = {
      .text_bytes = 16 * kMiB, .token_bytes = 48 * kMiB, .vector_bytes = 64 * kMiB};
  EXPECT_EQ(
      plan_window(unit, batches, budget),
      (WindowSize{.rows = 64 * kMiB / (4 * 384 * 4), .text_bytes = 4 * kMiB, .tokens = 16384}));
  unit.window_share = 0.5;
  EXPECT_EQ(plan_window(unit, batches, budget).text_bytes, 2 * kMiB);
}

// A row has several vectors then, and the overlap is tokenized twice.
TEST(PlanWindow, OfPassagesKeepsToTheBudgetsToo) {
  JobUnit unit;
  constexpr int64_t kMiB = int64_t{1} << 20;
  unit.identity.dim = 384;
  unit.effective.passages = PassageRule{.max_tokens = 64, .overlap = 32};
  const BatchPlan batches{.budget_tokens = 512, .batches_at_once = 2};
  EXPECT_EQ(plan_window(unit, batches, {}).text_bytes, 8 * kMiB);
  const HostBudget budget = {
      .text_bytes = 16 * kMiB, .token_bytes = 48 * kMiB, .vector_bytes = 6 * kMiB};
  // The budget has room for 1,024 vectors: one for each of 512 rows, and 512 more of 96 new bytes.
  EXPECT_EQ(plan_window(unit, batches, budget),
            (WindowSize{.rows = 512, .text_bytes = int64_t{512} * 96, .tokens = 16384}));
}

// Two workers of a run divide the processors and the memory for reading ahead.
TEST(PlanTokenizing, AWorkerGetsItsShareOfTheHost) {
  JobUnit unit;
  unit.effective.launch_tokens = 2048;
  unit.identity.dim = 4;
  unit.speed = {.threads = 8, .tokenizer_threads = 6, .prefetch_bytes = 1 << 20};
  const BatchPlan batches{.budget_tokens = 2048, .launch_tokens = 2048, .batches_at_once = 1};
  const TokenizePlan whole = plan_tokenizing(unit, {}, nullptr, batches);
  unit.host_share = 0.5;
  const TokenizePlan half = plan_tokenizing(unit, {}, nullptr, batches);
  EXPECT_EQ(half.window.text_bytes * 2, whole.window.text_bytes);
  EXPECT_EQ(half.threads, 3);
  EXPECT_EQ(host_threads(unit, 8), 4);
  EXPECT_EQ(host_threads(unit, 1), 1) << "a worker has at least one thread";
}

// Gives every token the type 1.
class TypedTokenizer : public Tokenizer {
 public:
  void encode(std::string_view /*utf8*/, const TokenizeOptions& /*options*/,
              TokenizedRows& /*rows*/) const override {}
  void encode_with_offsets(std::string_view /*utf8*/, const TokenizeOptions& /*options*/,
                           TokenizedRows& /*rows*/,
                           std::vector<TokenOffset>& /*offsets*/) const override {}
  int64_t vocab_size() const override { return 1; }
  std::string description() const override { return {}; }
  RowTypeIds type_ids() const override { return {.before = {1}, .text = 1, .after = {1}}; }
  std::string token(int32_t /*id*/) const override { return {}; }
  bool is_special(int32_t /*id*/) const override { return false; }
};

// Equal ids must have the same vector, so an input may have texts with token types or rows of token
// ids, but not both.
TEST(PlanTokenizing, TypesAreForTextsAlone) {
  const TypedTokenizer tokenizer;
  const BatchPlan batches{.budget_tokens = 512, .batches_at_once = 1};
  JobUnit unit;
  unit.scan.rows = 4;
  EXPECT_EQ(plan_tokenizing(unit, {}, &tokenizer, batches).type_ids, tokenizer.type_ids());
  unit.scan.tokenized = 4;
  EXPECT_TRUE(plan_tokenizing(unit, {}, &tokenizer, batches).type_ids.all_zero());
  unit.scan.tokenized = 1;
  EXPECT_EQ(error_of([&] { plan_tokenizing(unit, {}, &tokenizer, batches); }).code.name(),
            "model.unsupported");
}

}  // namespace
}  // namespace encode::testing
