// Compares packed attention on CPU with its formula in float64, element by element.
#include "nn/layers/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <ATen/ops/abs.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/max.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "nn/layers/linear.h"

namespace encode {
namespace {

struct Shape {
  std::vector<int64_t> lengths;
  int64_t heads = 2;
  int64_t key_value_heads = 2;
  int64_t head_dim = 32;
};

int64_t total(const Shape& shape) {
  int64_t tokens = 0;
  for (const int64_t length : shape.lengths) tokens += length;
  return tokens;
}

PackedInput packed(const Shape& shape) {
  PackedInput batch;
  batch.cu_seqlens = {0};
  for (const int64_t length : shape.lengths) {
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + static_cast<int32_t>(length));
    batch.max_seqlen = std::max(batch.max_seqlen, length);
  }
  return batch;
}

// Returns query, key and value as slices of one fused projection, as in the models.
AttentionInput random_input(const Shape& shape, at::ScalarType type) {
  const int64_t all = shape.heads + 2 * shape.key_value_heads;
  const at::Tensor qkv = at::randn({total(shape), all, shape.head_dim}).to(type);
  return {.query = qkv.narrow(1, 0, shape.heads),
          .key = qkv.narrow(1, shape.heads, shape.key_value_heads),
          .value = qkv.narrow(1, shape.heads + shape.key_value_heads, shape.key_value_heads)};
}

AttentionInput wide(const AttentionInput& input) {
  return {.query = input.query.to(at::kDouble),
          .key = input.key.to(at::kDouble),
          .value = input.value.to(at::kDouble)};
}

double relative_score(const at::Tensor& table, int64_t token, int64_t head, int64_t column) {
  return table.defined() ? table[token][head][column].item<double>() : 0;
}

// Returns the score of a query and a key. `pair` has three numbers: the first token of the
// sequence, and the positions of the query and of the key in the sequence.
double score(const AttentionInput& in, const AttentionOptions& options, int64_t head,
             std::array<int64_t, 3> pair) {
  const auto [begin, query, key] = pair;
  const int64_t group = in.query.size(1) / in.key.size(1);
  double value =
      in.query[begin + query][head].dot(in.key[begin + key][head / group]).item<double>();
  int64_t column = 0;
  if (options.relative != nullptr) {
    const auto reach = static_cast<int64_t>(options.relative->column.size() / 2);
    const int64_t distance = std::min(std::max(key - query, -reach), reach);
    column = options.relative->column[static_cast<size_t>(distance + reach)];
    value += relative_score(options.relative->of_query, begin + query, head, column) +
             relative_score(options.relative->of_key, begin + key, head, column);
  }
  value *= options.scale;
  if (options.softcap > 0) value = options.softcap * std::tanh(value / options.softcap);
  if (options.relative != nullptr && options.relative->bias.defined())
    value += options.relative->bias[head][column].item<double>();
  return value;
}

bool sees(const AttentionWindow& window, int64_t query, int64_t key) {
  return (window.left < 0 || key >= query - window.left) &&
         (window.right < 0 || key <= query + window.right);
}

at::Tensor formula(const AttentionInput& given, const PackedInput& batch,
                   const AttentionOptions& options) {
  const AttentionInput in = wide(given);
  const int64_t group = in.query.size(1) / in.key.size(1);
  at::Tensor out = at::zeros({in.query.size(0), in.query.size(1), in.query.size(2)}, at::kDouble);
  for (int64_t b = 0; b < batch.sequences(); ++b) {
    const int64_t begin = batch.cu_seqlens[static_cast<size_t>(b)];
    const int64_t length = batch.cu_seqlens[static_cast<size_t>(b) + 1] - begin;
    for (int64_t head = 0; head < in.query.size(1); ++head) {
      for (int64_t i = 0; i < length; ++i) {
        double sum = 0;
        auto row = out.accessor<double, 3>()[begin + i][head];
        for (int64_t j = 0; j < length; ++j) {
          if (!sees(options.window, i, j)) continue;
          const double weight = std::exp(score(in, options, head, {begin, i, j}));
          sum += weight;
          const auto values = in.value.accessor<double, 3>()[begin + j][head / group];
          for (int64_t d = 0; d < row.size(0); ++d) row[d] += weight * values[d];
        }
        for (int64_t d = 0; d < row.size(0); ++d) row[d] /= sum;
      }
    }
  }
  return out.flatten(1);
}

double error(const Shape& shape, const AttentionOptions& options,
             at::ScalarType type = at::kFloat) {
  const AttentionInput input = random_input(shape, type);
  const PackedInput batch = packed(shape);
  const at::Tensor got = varlen_attention(input, batch, options).to(at::kDouble);
  return at::max(at::abs(got.sub(formula(input, batch, options)))).item<double>();
}

AttentionOptions scaled(const Shape& shape) {
  return {.scale = 1 / std::sqrt(static_cast<double>(shape.head_dim))};
}

TEST(Attention, IsTheFormulaAtEveryLengthAndHeadSize) {
  for (const int64_t head_dim : {2, 20, 32, 33, 64, 128}) {
    const Shape shape = {.lengths = {1, 15, 16, 17, 31, 33, 70}, .head_dim = head_dim};
    EXPECT_LT(error(shape, scaled(shape)), 2e-6) << "head_dim " << head_dim;
  }
}

TEST(Attention, LongSequencesTakeSeveralBlocksOfKeys) {
  const Shape shape = {.lengths = {600}, .heads = 1, .key_value_heads = 1, .head_dim = 8};
  EXPECT_LT(error(shape, scaled(shape)), 2e-6);
}

TEST(Attention, QueryHeadsShareTheirGroupsKeys) {
  const Shape shape = {.lengths = {9, 40}, .heads = 6, .key_value_heads = 2, .head_dim = 16};
  EXPECT_LT(error(shape, scaled(shape)), 2e-6);
}

TEST(Attention, WindowsHideTheKeysOutside) {
  const Shape shape = {.lengths = {1, 50, 90}, .head_dim = 16};
  for (const AttentionWindow& window :
       {AttentionWindow::causal(), AttentionWindow{.left = 3, .right = 0},
        AttentionWindow{.left = 5, .right = 5}, AttentionWindow{.left = 0, .right = 0},
        AttentionWindow{.left = 40, .right = -1}}) {
    AttentionOptions options = scaled(shape);
    options.window = window;
    EXPECT_LT(error(shape, options), 2e-6) << window.left << ", " << window.right;
  }
}

TEST(Attention, SoftcapAndRelativePositionsJoinTheScore) {
  const Shape shape = {.lengths = {7, 41}, .head_dim = 16};
  RelativePositions relative = {.column = {4, 3, 0, 1, 2},
                                .bias = at::randn({shape.heads, 5}),
                                .of_query = at::randn({total(shape), shape.heads, 5}),
                                .of_key = at::randn({total(shape), shape.heads, 5})};
  AttentionOptions options = scaled(shape);
  options.softcap = 1.5;
  EXPECT_LT(error(shape, options), 2e-6) << "softcap";
  options.relative = &relative;
  EXPECT_LT(error(shape, options), 2e-6) << "all terms";
  relative.of_query = at::Tensor();
  relative.of_key = at::Tensor();
  options.softcap = 0;
  EXPECT_LT(error(shape, options), 2e-6) << "bias alone";
  options.window = {.left = 5, .right = 9};
  EXPECT_LT(error(shape, options), 2e-6) << "bias alone, in a window";
}

TEST(Attention, HalfWidthTypesRoundTheirInputsAndOutputsAlone) {
  const Shape shape = {.lengths = {1, 30, 70}, .head_dim = 64};
  EXPECT_LT(error(shape, scaled(shape), at::kHalf), 2e-3);
  EXPECT_LT(error(shape, scaled(shape), at::kBFloat16), 2e-2);
}

// Only the operands are rounded to bfloat16, so the error must be as small as with bfloat16 inputs.
TEST(Attention, RoundsOperandsWhereAskedTo) {
  for (const int64_t head_dim : {20, 32, 64}) {
    const Shape shape = {.lengths = {1, 15, 33, 70}, .heads = 4, .head_dim = head_dim};
    AttentionOptions options = scaled(shape);
    options.rounds_operands = true;
    EXPECT_LT(error(shape, options), 2e-2) << "head_dim " << head_dim;
    if (kernels::kernels().multiply_pairs != nullptr && head_dim % 32 == 0) {
      EXPECT_GT(error(shape, options), 1e-5) << "nothing was rounded";
    }
    options.window = AttentionWindow::causal();
    EXPECT_LT(error(shape, options), 2e-2) << "causal, head_dim " << head_dim;
  }
}

TEST(Attention, ASequencesBitsDoNotDependOnItsNeighbours) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Shape shape = {.lengths = {23, 64, 5}};
    const AttentionInput input = random_input(shape, type);
    const at::Tensor all = varlen_attention(input, packed(shape), scaled(shape));
    const auto alone = [](const at::Tensor& t) { return t.narrow(0, 23, 64); };
    const AttentionInput part = {
        .query = alone(input.query), .key = alone(input.key), .value = alone(input.value)};
    const Shape one = {.lengths = {64}};
    EXPECT_TRUE(at::equal(varlen_attention(part, packed(one), scaled(one)), alone(all)));
  }
}

// For this shape, both matrix products of attention need the same configuration of the AMX tiles.
// An implementation that remembers this configuration could fail to restore it after the Linear has
// changed it.
TEST(Attention, AlternatesWithProductsOnTheSameTiles) {
  const Shape shape = {.lengths = {32}};
  const AttentionInput input = random_input(shape, at::kBFloat16);
  const Linear linear(at::randn({64, 64}).to(at::kBFloat16), {});
  const at::Tensor first = varlen_attention(input, packed(shape), scaled(shape));
  const at::Tensor product = linear(first);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(at::equal(varlen_attention(input, packed(shape), scaled(shape)), first));
    EXPECT_TRUE(at::equal(linear(first), product));
  }
}

TEST(Attention, AnotherSequencesNotANumberStaysThere) {
  const Shape shape = {.lengths = {5, 6}};
  const AttentionInput input = random_input(shape, at::kFloat);
  input.value.narrow(0, 5, 6).fill_(NAN);
  const at::Tensor out = varlen_attention(input, packed(shape), scaled(shape));
  EXPECT_TRUE(out.narrow(0, 0, 5).isfinite().all().item<bool>());
  EXPECT_TRUE(out.narrow(0, 5, 6).isnan().all().item<bool>());
}

}  // namespace
}  // namespace encode
