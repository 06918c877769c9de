// A PackedBatch on the device, as the layers of a model use it.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "encode/batch.h"

namespace encode {

// A batch of B sequences in T token slots. Sequence b has the slots cu_seqlens[b] to cu_seqlens[b +
// 1] - 1. The slots from cu_seqlens[B] on are filler, so that T can be a multiple of a block or
// launch size. Filler slots have id 0 and do not affect any embedding.
struct PackedInput {
  at::Tensor input_ids;             // [T] int64, on the device
  at::Tensor position_ids;          // [T] int64, on the device
  at::Tensor type_ids;              // [T] int64, on the device; undefined if all are 0
  int64_t max_type_id = 0;          // the largest of type_ids
  at::Tensor cu_seqlens_device;     // [B + 1] int32, CUDA only
  std::vector<int32_t> cu_seqlens;  // [B + 1], on the host
  int64_t max_seqlen = 0;
  // [P] int64, on the device: for each sequence the slot of the only token that pooling reads, then
  // filler up to P. Undefined if pooling reads all tokens.
  at::Tensor pooled_rows;
  int64_t prompt_tokens = 0;  // leading tokens of each sequence that pooling ignores

  int64_t tokens() const { return input_ids.size(0); }
  int64_t sequences() const { return static_cast<int64_t>(cu_seqlens.size()) - 1; }
};

// Copies values from the host to the device. The host does not wait for the device, because the
// copy starts in pinned memory. LibTorch's caching allocator reuses this memory only after the copy
// is done. Any number of threads may call it. Throws c10::Error if the device fails.
at::Tensor to_device(const std::vector<int64_t>& values, at::Device device);
at::Tensor to_device(const std::vector<int32_t>& values, at::Device device);
at::Tensor to_device(const std::vector<float>& values, at::Device device);

// Copies a batch to `device` and fills it up to `slots` token slots, at least batch.tokens().
PackedInput to_device(const PackedBatch& batch, int64_t slots, at::Device device);

}  // namespace encode
