#include "nn/layers/pooling.h"

#include <cmath>

#include <ATen/ops/abs.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/max.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

constexpr int64_t kWidth = 16;

struct Example {
  PackedInput input;
  at::Tensor hidden;
};

Example make_example(const std::vector<int32_t>& lengths, int64_t prompt_tokens) {
  PackedBatch batch;
  batch.cu_seqlens.push_back(0);
  for (const int32_t length : lengths) {
    for (int32_t t = 0; t < length; ++t) {
      batch.input_ids.push_back(0);
      batch.position_ids.push_back(t);
    }
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.input_ids.size()));
    batch.sequence_numbers.push_back(static_cast<int64_t>(batch.sequence_numbers.size()));
  }
  batch.prompt_tokens = static_cast<int32_t>(prompt_tokens);
  const int64_t slots = batch.tokens() + 5;
  return {to_device(batch, slots, at::kCPU), at::randn({slots, kWidth})};
}

// Returns the pooled value of one column by the definition of the mode, in float64 and without the
// first `skip` tokens.
double expected(const at::Tensor& tokens, int64_t skip, PoolingMode mode, int64_t column) {
  const int64_t n = tokens.size(0);
  const auto value = [&](int64_t t) { return tokens[t][column].item<double>(); };
  if (mode == PoolingMode::kCls) return value(skip);
  if (mode == PoolingMode::kLastToken) return value(n - 1);
  double sum = 0;
  double weights = 0;
  double top = -1e30;
  for (int64_t t = skip; t < n; ++t) {
    const double weight = mode == PoolingMode::kWeightedMean ? static_cast<double>(t + 1) : 1.0;
    sum += weight * value(t);
    weights += weight;
    top = std::max(top, value(t));
  }
  if (mode == PoolingMode::kMax) return top;
  return mode == PoolingMode::kMeanSqrtLen ? sum / std::sqrt(weights) : sum / weights;
}

constexpr PoolingMode kModes[] = {PoolingMode::kCls,          PoolingMode::kMean,
                                  PoolingMode::kMax,          PoolingMode::kLastToken,
                                  PoolingMode::kWeightedMean, PoolingMode::kMeanSqrtLen};

class PoolingDefinition : public ::testing::TestWithParam<PoolingMode> {};

TEST_P(PoolingDefinition, HoldsForEverySequence) {
  for (const int64_t skip : {0, 2}) {
    const Example example = make_example({3, 40, 7}, skip);
    const at::Tensor pooled = pool(example.hidden, example.input, {GetParam()});
    for (int64_t b = 0; b < 3; ++b) {
      const auto begin = example.input.cu_seqlens[static_cast<size_t>(b)];
      const auto length = example.input.cu_seqlens[static_cast<size_t>(b) + 1] - begin;
      for (const int64_t column : {0L, 7L, kWidth - 1}) {
        EXPECT_NEAR(pooled[b][column].item<double>(),
                    expected(example.hidden.narrow(0, begin, length), skip, GetParam(), column),
                    1e-5)
            << "sequence " << b << " column " << column << " prompt " << skip;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, PoolingDefinition, ::testing::ValuesIn(kModes));

TEST(Pooling, ModesStandSideBySideInTheirOrder) {
  const Example example = make_example({4, 9}, 0);
  const at::Tensor both =
      pool(example.hidden, example.input, {PoolingMode::kMean, PoolingMode::kCls});
  EXPECT_TRUE(at::equal(both.narrow(1, 0, kWidth),
                        pool(example.hidden, example.input, {PoolingMode::kMean})));
  EXPECT_TRUE(at::equal(both.narrow(1, kWidth, kWidth),
                        pool(example.hidden, example.input, {PoolingMode::kCls})));
}

// The spans overlap, and the second sequence has one that is a single token.
TEST(Pooling, OfSpansIsTheMeanOfTheirTokens) {
  PackedBatch batch;
  batch.cu_seqlens = {0, 5, 12};
  batch.input_ids.resize(12);
  batch.position_ids.resize(12);
  batch.sequence_numbers = {0, 1};
  batch.first_vectors = {0, 2};
  batch.vectors = {2, 3};
  batch.spans = {{0, 3}, {2, 5}, {0, 7}, {6, 7}, {1, 4}};
  const at::Tensor hidden = at::randn({17, kWidth});
  const SpanTokens spans = span_tokens(hidden, slots_of_spans(batch));
  const at::Tensor pooled = pool(spans.hidden_states, spans.input, {PoolingMode::kMean});
  const std::vector<TokenSpan> rows = {{0, 3}, {2, 5}, {5, 12}, {11, 12}, {6, 9}};
  ASSERT_EQ(pooled.size(0), std::ssize(rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    const at::Tensor tokens = hidden.narrow(0, rows[i].begin, rows[i].end - rows[i].begin);
    for (const int64_t column : {0L, 7L, kWidth - 1}) {
      EXPECT_NEAR(pooled[static_cast<int64_t>(i)][column].item<double>(),
                  expected(tokens, 0, PoolingMode::kMean, column), 1e-5)
          << "span " << i;
    }
  }
}

TEST(Pooling, ASequenceThatIsAllPromptPoolsToZero) {
  const Example example = make_example({2, 6}, 3);
  for (const PoolingMode mode :
       {PoolingMode::kMean, PoolingMode::kMax, PoolingMode::kWeightedMean}) {
    EXPECT_EQ(at::max(at::abs(pool(example.hidden, example.input, {mode})[0])).item<double>(), 0)
        << to_string(mode);
  }
}

TEST(Normalize, GivesUnitRowsAndLeavesZeroAlone) {
  at::Tensor x = at::randn({5, kWidth});
  x[3].zero_();
  l2_normalize(x);
  for (int64_t row = 0; row < 5; ++row)
    EXPECT_NEAR(at::norm(x[row]).item<double>(), row == 3 ? 0 : 1, 1e-6);
}

}  // namespace
}  // namespace encode
