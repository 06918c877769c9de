#include "nn/packed_input.h"

#include <algorithm>

#include <ATen/ops/empty.h>

namespace encode {
namespace {

at::Tensor slots_tensor(const std::vector<int32_t>& values, int64_t slots, at::Device device) {
  const bool pinned = device.is_cuda();
  at::Tensor host = at::empty({slots}, at::TensorOptions().dtype(at::kLong).pinned_memory(pinned));
  auto* out = host.mutable_data_ptr<int64_t>();
  std::copy(values.begin(), values.end(), out);
  std::fill(out + values.size(), out + slots, 0);
  return pinned ? host.to(device, /*non_blocking=*/true) : host;
}

}  // namespace

PackedInput to_device(const PackedBatch& batch, int64_t slots, at::Device device) {
  PackedInput input;
  input.input_ids = slots_tensor(batch.input_ids, slots, device);
  input.position_ids = slots_tensor(batch.position_ids, slots, device);
  input.cu_seqlens = batch.cu_seqlens;
  // FlashAttention takes another path where the longest sequence is one token, and a row's bits
  // would tell.
  input.max_seqlen = std::max(batch.max_seqlen, 2);
  input.prompt_tokens = batch.prompt_tokens;
  if (device.is_cuda()) {
    at::Tensor host = at::empty({static_cast<int64_t>(batch.cu_seqlens.size())},
                                at::TensorOptions().dtype(at::kInt).pinned_memory(true));
    std::copy(batch.cu_seqlens.begin(), batch.cu_seqlens.end(), host.mutable_data_ptr<int32_t>());
    input.cu_seqlens_device = host.to(device, /*non_blocking=*/true);
  }
  return input;
}

}  // namespace encode
