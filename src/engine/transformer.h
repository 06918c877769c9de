// A loaded model with its head, and the checks that come before every launch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "encode/batch.h"
#include "encode/encoder.h"

#include "engine/head.h"
#include "models/model.h"
#include "nn/layers/product_trace.h"

namespace encode {

struct Transformer {
  std::unique_ptr<ProductTrace> trace;  // of the products below, which point to it
  std::unique_ptr<Model> model;
  EmbeddingHead head;
  at::Device device;
  ProductFormat format;  // of the model's products
  int64_t dim = 0;
  int64_t vocab_size = 0;
  int64_t max_length = 0;
  bool token_embeddings = false;  // PoolingMode::kNone

  // [B, dim] float32 on the device, or [T, dim] with token_embeddings; head.finish() is still to be
  // done. `slots` >= batch.tokens(): see PackedInput.
  at::Tensor embed(const PackedBatch& batch, int64_t slots) const;
  // What embed() made and finish() finished, on the host, to its places in `out`: see
  // Encoder::encode().
  void scatter(const at::Tensor& embeddings, const PackedBatch& batch, std::span<float> out) const;
};

// Ids below the vocabulary's size and lengths within the model's limit, on the host: on a GPU a bad
// id is a device-side assert that ends the process. Throws Error kData "batch.token_id" or
// "batch.length", naming the window row.
void check_batch(const PackedBatch& batch, const Transformer& transformer);

// Encoder::window_tokens() in batches for each thread that computes, or for a device. At the end of
// a call a thread waits half a batch on average: a thirtieth of this.
inline constexpr int64_t kWindowBatches = 16;

std::unique_ptr<Encoder> make_cpu_encoder(Transformer transformer, const EncoderOptions& options);
std::unique_ptr<Encoder> make_cuda_encoder(Transformer transformer, const EncoderOptions& options);

}  // namespace encode
