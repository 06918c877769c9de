#include "nn/layers/packed_input.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

namespace encode {
namespace {

// Returns `values`, filled up with zeros to `size`, as a tensor of T on `device`.
template <typename T, typename Value>
at::Tensor upload(const std::vector<Value>& values, int64_t size, at::Device device) {
  const bool pinned = device.is_cuda();
  at::Tensor host = at::empty(
      {size}, at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value).pinned_memory(pinned));
  auto* out = host.mutable_data_ptr<T>();
  std::copy(values.begin(), values.end(), out);
  std::fill(out + values.size(), out + size, T{0});
  return pinned ? host.to(device, /*non_blocking=*/true) : host;
}

template <typename T>
at::Tensor upload(const std::vector<T>& values, at::Device device) {
  return upload<T>(values, static_cast<int64_t>(values.size()), device);
}

}  // namespace

at::Tensor to_device(const std::vector<int64_t>& values, at::Device device) {
  return upload(values, device);
}
at::Tensor to_device(const std::vector<int32_t>& values, at::Device device) {
  return upload(values, device);
}
at::Tensor to_device(const std::vector<float>& values, at::Device device) {
  return upload(values, device);
}

PackedInput to_device(const PackedBatch& batch, int64_t slots, at::Device device) {
  PackedInput input;
  input.input_ids = upload<int64_t>(batch.input_ids, slots, device);
  input.position_ids = upload<int64_t>(batch.position_ids, slots, device);
  if (!batch.type_ids.empty()) {
    input.type_ids = upload<int64_t>(batch.type_ids, slots, device);
    input.max_type_id = *std::max_element(batch.type_ids.begin(), batch.type_ids.end());
  }
  input.cu_seqlens = batch.cu_seqlens;
  // If the longest sequence has one token, FlashAttention takes another path and gives other bits.
  // Therefore max_seqlen is at least 2.
  input.max_seqlen = std::max(batch.max_seqlen, 2);
  input.prompt_tokens = batch.prompt_tokens;
  if (device.is_cuda()) input.cu_seqlens_device = to_device(batch.cu_seqlens, device);
  return input;
}

}  // namespace encode
