// Measures the parts of a forward pass on the CPU, with one thread, 512 tokens and the width of
// MiniLM. The FLOP/s count the operations of the floating-point matrix product, even if the kernel
// computes it in another way.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>

#include "kernels/kernels.h"
#include "nn/layers/attention.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"
#include "nn/products/row_blocks.h"

namespace encode::benchmarks {
namespace {

constexpr int64_t kHidden = 384;
constexpr int64_t kHeads = 12;
constexpr double kEps = 1e-12;

at::Tensor random_matrix(int64_t rows, int64_t columns, at::ScalarType type) {
  return at::randn({rows, columns}, at::kFloat).to(type);
}

void report_flops(benchmark::State& state, double flops) {
  state.counters["FLOP/s"] = benchmark::Counter(flops * static_cast<double>(state.iterations()),
                                                benchmark::Counter::kIsRate);
}

// Times a matrix product. The arguments of a benchmark are in_features, out_features and rows.
void product(benchmark::State& state, ProductFormat format) {
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const at::ScalarType type = compute_type(format);
  const int64_t in = state.range(0);
  const int64_t out = state.range(1);
  const Linear linear({random_matrix(out, in, type)}, random_matrix(1, out, type)[0],
                      Activation::kNone, {.format = format});
  const at::Tensor x = random_matrix(state.range(2), in, type);
  for (auto _ : state) benchmark::DoNotOptimize(linear(x).data_ptr());
  report_flops(state, 2.0 * static_cast<double>(in * out * x.size(0)));
}

void product_shapes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t rows : {32, 512}) {
    benchmark->Args({kHidden, kHidden, rows});
    benchmark->Args({kHidden, 3 * kHidden, rows});
    benchmark->Args({kHidden, 4 * kHidden, rows});
    benchmark->Args({4 * kHidden, kHidden, rows});
  }
}

BENCHMARK_CAPTURE(product, float32, ProductFormat::kFloat32)->Apply(product_shapes);
BENCHMARK_CAPTURE(product, float32_high, ProductFormat::kFloat32High)->Apply(product_shapes);
BENCHMARK_CAPTURE(product, bfloat16, ProductFormat::kBFloat16)->Apply(product_shapes);
BENCHMARK_CAPTURE(product, float16, ProductFormat::kFloat16)->Apply(product_shapes);

void product_gelu(benchmark::State& state, at::ScalarType type) {
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const Linear linear(random_matrix(4 * kHidden, kHidden, type), {}, Activation::kGelu);
  const at::Tensor x = random_matrix(kProductBlockRows, kHidden, type);
  for (auto _ : state) benchmark::DoNotOptimize(linear(x).data_ptr());
  report_flops(state, 2.0 * static_cast<double>(4 * kHidden * kHidden * kProductBlockRows));
}
BENCHMARK_CAPTURE(product_gelu, float32, at::kFloat);
BENCHMARK_CAPTURE(product_gelu, bfloat16, at::kBFloat16);
BENCHMARK_CAPTURE(product_gelu, float16, at::kHalf);

void layer_norm(benchmark::State& state, at::ScalarType type) {
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const LayerNorm norm(random_matrix(1, kHidden, type)[0], random_matrix(1, kHidden, type)[0],
                       kEps);
  const at::Tensor x = random_matrix(kProductBlockRows, kHidden, type);
  for (auto _ : state) benchmark::DoNotOptimize(norm(x).data_ptr());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(x.nbytes()));
}
BENCHMARK_CAPTURE(layer_norm, float32, at::kFloat);
BENCHMARK_CAPTURE(layer_norm, bfloat16, at::kBFloat16);
BENCHMARK_CAPTURE(layer_norm, float16, at::kHalf);

// Times the attention of one batch. The argument is the number of tokens of a sequence. The batch
// has as many sequences as fit into a block, and at least one.
void attention(benchmark::State& state, at::ScalarType type) {
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const int64_t length = state.range(0);
  const int64_t sequences = std::max<int64_t>(kProductBlockRows / length, 1);
  const int64_t tokens = length * sequences;
  constexpr int64_t kHeadDim = kHidden / kHeads;
  const at::Tensor qkv = random_matrix(tokens, 3 * kHidden, type).view({tokens, 3 * kHeads, -1});
  PackedInput batch;
  batch.input_ids = at::arange(tokens, at::kLong);
  batch.max_seqlen = length;
  for (int64_t i = 0; i <= sequences; ++i)
    batch.cu_seqlens.push_back(static_cast<int32_t>(i * length));
  const AttentionInput input = {.query = qkv.narrow(1, 0, kHeads),
                                .key = qkv.narrow(1, kHeads, kHeads),
                                .value = qkv.narrow(1, 2 * kHeads, kHeads)};
  const AttentionOptions options = {.scale = 1 / std::sqrt(static_cast<double>(kHeadDim))};
  for (auto _ : state) benchmark::DoNotOptimize(varlen_attention(input, batch, options).data_ptr());
  report_flops(state, 4.0 * static_cast<double>(tokens * length * kHidden));
  state.SetItemsProcessed(state.iterations() * tokens);
}
BENCHMARK_CAPTURE(attention, float32, at::kFloat)->Arg(16)->Arg(64)->Arg(256)->Arg(512)->Arg(4096);
BENCHMARK_CAPTURE(attention, float16, at::kHalf)->Arg(16)->Arg(64)->Arg(256)->Arg(512)->Arg(4096);
BENCHMARK_CAPTURE(attention, bfloat16, at::kBFloat16)
    ->Arg(16)
    ->Arg(64)
    ->Arg(256)
    ->Arg(512)
    ->Arg(4096);

void exp_scores(benchmark::State& state) {
  const int64_t n = state.range(0);
  const std::vector<float> scores(static_cast<size_t>(n), 1.0F);
  std::vector<float> out(scores.size());
  for (auto _ : state)
    benchmark::DoNotOptimize(kernels::kernels().exp_scores(scores.data(), n, 1, out.data()));
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK(exp_scores)->Arg(64)->Arg(512);

}  // namespace
}  // namespace encode::benchmarks
