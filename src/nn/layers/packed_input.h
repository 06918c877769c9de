// A PackedBatch on its device, as the layers of a model see it.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "encode/batch.h"

namespace encode {

// T is the number of token slots; the first cu_seqlens.back() of them hold sequences, the rest are
// filler, so that T can be the same for every launch. Filler slots hold id 0 and never reach an
// embedding.
struct PackedInput {
  at::Tensor input_ids;             // [T] int64, on the device
  at::Tensor position_ids;          // [T] int64, on the device
  at::Tensor cu_seqlens_device;     // [B + 1] int32, CUDA only
  std::vector<int32_t> cu_seqlens;  // [B + 1], host
  int64_t max_seqlen = 0;
  // [P] int64, on the device: the one token that pooling reads of each sequence, then filler;
  // undefined: all tokens are wanted.
  at::Tensor pooled_rows;
  int64_t prompt_tokens = 0;  // leading tokens of each sequence that pooling leaves out

  int64_t tokens() const { return input_ids.size(0); }
  int64_t sequences() const { return static_cast<int64_t>(cu_seqlens.size()) - 1; }
};

// Host values on the device, without the host waiting for what the device is at: from pinned
// memory, which LibTorch's caching allocator keeps and hands out again once the copy is done.
at::Tensor to_device(const std::vector<int64_t>& values, at::Device device);
at::Tensor to_device(const std::vector<int32_t>& values, at::Device device);
at::Tensor to_device(const std::vector<float>& values, at::Device device);

// Copies a batch to `device`, filled up to `slots` >= batch.tokens() token slots.
PackedInput to_device(const PackedBatch& batch, int64_t slots, at::Device device);

}  // namespace encode
