// Checks which of two kernels computes the sequences of a batch. The plugin's kernel takes the
// short ones, and FlashAttention-2 of LibTorch the others.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "nn/cuda/cuda_attention.h"
#include "nn/cuda/cuda_kernels.h"
#include "on_gpu.h"

namespace encode {
namespace {

constexpr int64_t kHeads = 2;

PackedInput batch_of(const std::vector<int32_t>& lengths, at::Device device) {
  PackedInput batch;
  batch.cu_seqlens = {0};
  for (const int32_t length : lengths) {
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + length);
    batch.max_seqlen = std::max<int64_t>(batch.max_seqlen, length);
  }
  batch.cu_seqlens_device = to_device(batch.cu_seqlens, device);
  return batch;
}

class AttentionByLength : public testing::OnGpu,
                          public ::testing::WithParamInterface<int64_t> {  // the size of a head
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped()) open_cuda_kernels(device_, at::kBFloat16);
  }

  // Returns random rows of a fused projection for `tokens` tokens, the same in each call.
  at::Tensor projection(int64_t tokens) const {
    at::Generator generator = at::detail::createCPUGenerator(/*seed=*/5);
    const auto options = at::TensorOptions().dtype(at::kFloat);
    return at::randn({tokens, 3 * kHeads, GetParam()}, generator, options).to(at::kBFloat16);
  }

  at::Tensor attend(const at::Tensor& qkv, const std::vector<int32_t>& lengths) const {
    const at::Tensor there = qkv.to(device_);
    const AttentionInput input = {.query = there.narrow(1, 0, kHeads),
                                  .key = there.narrow(1, kHeads, kHeads),
                                  .value = there.narrow(1, 2 * kHeads, kHeads)};
    const AttentionOptions options = {.scale = 1 / std::sqrt(static_cast<double>(GetParam()))};
    return attention_cuda(input, batch_of(lengths, device_), options).to(at::kCPU);
  }
};

// The order of the sequences and their neighbours do not matter.
TEST_P(AttentionByLength, ASequenceHasTheSameBitsAlone) {
  for (const std::vector<int32_t>& lengths :
       {std::vector<int32_t>{100, 70, 64, 5}, {5, 70, 64, 100}, {64, 1}, {65, 90}}) {
    const auto tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    const at::Tensor qkv = projection(tokens + 3);  // with filler slots
    const at::Tensor together = attend(qkv, lengths);
    int64_t begin = 0;
    for (const int32_t length : lengths) {
      const at::Tensor alone = attend(qkv.narrow(0, begin, length), {length});
      EXPECT_TRUE(at::equal(alone, together.narrow(0, begin, length))) << length << " tokens";
      begin += length;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, AttentionByLength, ::testing::Values(32, 64, 128, 96));

}  // namespace
}  // namespace encode
