// Measures cuDNN's attention and FlashAttention-2 on a GPU, on packed sequences with the shapes of
// two models. docs/gpu.md says how the measured times decide which of the two encode uses. This is
// a separate program, because an illegal access inside cuDNN would fail every later test of the
// process.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iostream>
#include <vector>

#include <ATen/ops/_cudnn_attention_forward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/max.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "base/stopwatch.h"
#include "base/units.h"
#include "on_gpu.h"

namespace encode {
namespace {

struct Heads {
  const char* model;
  int64_t query;
  int64_t key;
  int64_t head_dim;
  bool causal;
};

constexpr Heads kHeads[] = {{"Qwen2-1.5B", 12, 2, 128, true}, {"BERT-base", 12, 12, 64, false}};

// Packed sequences. Each row of qkv has the heads of queries, keys and values side by side, as the
// fused projection of a model gives them.
struct Packed {
  at::Tensor qkv;         // [T, query + 2 x key, head_dim]
  at::Tensor cu_seqlens;  // [B + 1] int32
  int64_t longest = 0;    // what the kernel is told; at least the longest sequence
};

using Attention = at::Tensor (*)(const Packed&, const Heads&);

struct Operands {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
};

Operands operands(const Packed& batch, const Heads& heads) {
  return {.query = batch.qkv.narrow(1, 0, heads.query),
          .key = batch.qkv.narrow(1, heads.query, heads.key),
          .value = batch.qkv.narrow(1, heads.query + heads.key, heads.key)};
}

double scale_of(const Heads& heads) { return 1 / std::sqrt(static_cast<double>(heads.head_dim)); }

at::Tensor flash(const Packed& batch, const Heads& heads) {
  const Operands in = operands(batch, heads);
  return std::get<0>(at::_flash_attention_forward(
      in.query, in.key, in.value, batch.cu_seqlens, batch.cu_seqlens, batch.longest, batch.longest,
      /*dropout_p=*/0.0, heads.causal, /*return_debug_mask=*/false, scale_of(heads)));
}

at::Tensor cudnn(const Packed& batch, const Heads& heads) {
  const Operands in = operands(batch, heads);
  return std::get<0>(at::_cudnn_attention_forward(
      in.query, in.key, in.value, /*attn_bias=*/std::nullopt, batch.cu_seqlens, batch.cu_seqlens,
      batch.longest, batch.longest, /*compute_log_sumexp=*/false, /*dropout_p=*/0.0, heads.causal,
      /*return_debug_mask=*/false, scale_of(heads)));
}

class GpuAttention : public testing::OnGpu {
 protected:
  Packed packed(const std::vector<int64_t>& lengths, const Heads& heads) const {
    std::vector<int32_t> ends = {0};
    for (const int64_t length : lengths) ends.push_back(ends.back() + static_cast<int32_t>(length));
    const auto tensor = at::TensorOptions().dtype(at::kFloat).device(device_);
    return {.qkv = at::randn({ends.back(), heads.query + 2 * heads.key, heads.head_dim}, tensor)
                       .to(at::kBFloat16),
            .cu_seqlens = at::tensor(ends, at::kInt).to(device_),
            .longest = *std::max_element(lengths.begin(), lengths.end())};
  }

  // Returns the milliseconds of one call, after a first call.
  double time(Attention attention, const Packed& batch, const Heads& heads) const {
    constexpr int kCalls = 20;
    attention(batch, heads);
    synchronize(device_);
    const Stopwatch watch;
    for (int i = 0; i < kCalls; ++i) attention(batch, heads);
    synchronize(device_);
    return watch.seconds() * 1000 / kCalls;
  }

  // Returns the milliseconds of a first call, which may have to make a plan for the shape.
  double time_first(Attention attention, const Packed& batch, const Heads& heads) const {
    const Stopwatch watch;
    attention(batch, heads);
    synchronize(device_);
    return watch.seconds() * 1000;
  }

  // Returns whether the first sequence of a batch has the same bits if the other sequences change:
  // first only their tokens, then also their lengths and their number.
  bool sees_no_neighbours(Attention attention, const Heads& heads) const {
    const int64_t length = 200;
    const Packed batch = packed({length, 512, 33, 512}, heads);
    const at::Tensor expected = attention(batch, heads).narrow(0, 0, length).clone();
    for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{length, 512, 33, 512},
                                                {length, 100},
                                                {length, 512, 512, 64, 1, 7}}) {
      Packed other = packed(lengths, heads);
      other.qkv.narrow(0, 0, length).copy_(batch.qkv.narrow(0, 0, length));
      if (attention(other, heads).narrow(0, 0, length).ne(expected).sum().item<int64_t>() != 0)
        return false;
    }
    return true;
  }

  void compare(const Heads& heads, const std::string& name, const std::vector<int64_t>& lengths) {
    const Packed batch = packed(lengths, heads);
    std::string figures = fmt::format("FlashAttention-2 {:.3f} ms", time(flash, batch, heads));
    try {
      const double first = time_first(cudnn, batch, heads);
      const double warm = time(cudnn, batch, heads);
      const double difference =
          at::max(at::abs(cudnn(batch, heads).sub(flash(batch, heads)))).item<double>();
      figures += fmt::format(", cuDNN {:.3f} ms (first call {:.1f} ms), largest difference {:.2g}",
                             warm, first, difference);
    } catch (const c10::Error& error) {
      figures += ", cuDNN refuses: " + preview(error.what_without_backtrace(), 160);
    }
    std::cout << "self-check attention of " << heads.model << ", " << name << " BFloat16 "
              << figures << "\n";
  }
};

TEST_F(GpuAttention, OfCudnnBesideFlashAttention) {
  const c10::InferenceMode inference;
  if (!supports_flash_attention(device_)) {
    std::cout << "no FlashAttention-2 on " << device_description(device_) << "\n";
    return;
  }
  for (const Heads& heads : kHeads) {
    compare(heads, "32 x 512", std::vector<int64_t>(32, 512));
    compare(heads, "256 x 64", std::vector<int64_t>(256, 64));
    compare(heads, "8 x 2048", std::vector<int64_t>(8, 2048));
    std::vector<int64_t> mixed;
    for (int64_t i = 0; i < 64; ++i) mixed.push_back(16 + i * 211 % 497);
    compare(heads, "64 of 16 to 512", mixed);
  }
}

TEST_F(GpuAttention, OfARowDoesNotDependOnTheOthers) {
  const c10::InferenceMode inference;
  if (!supports_flash_attention(device_)) return;
  for (const Heads& heads : kHeads) {
    EXPECT_TRUE(sees_no_neighbours(flash, heads)) << heads.model;
    std::string answer;
    try {
      answer = sees_no_neighbours(cudnn, heads) ? "the same bits" : "OTHER BITS";
    } catch (const c10::Error& error) {
      answer = "cuDNN refuses: " + preview(error.what_without_backtrace(), 160);
    }
    std::cout << "self-check cuDNN's attention of " << heads.model
              << ", a row beside other rows BFloat16 " << answer << "\n";
  }
}

}  // namespace
}  // namespace encode
