// A model with its head on a device: from token ids to embeddings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "encode/batch.h"
#include "encode/encoder.h"
#include "encode/model_directory.h"

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
  EffectiveResult effective;
  int64_t vocab_size = 0;

  // [B, dim] float32 on the device, or [T, dim] with token_embeddings; head.finish() is still to be
  // done. `slots` >= batch.tokens(): see PackedInput.
  at::Tensor embed(const PackedBatch& batch, int64_t slots) const;
  // The slots that embed() should be given for a batch of so many tokens: whole launches on a GPU,
  // as many as the CPU's products take without a copy there.
  int64_t token_slots(int64_t tokens) const;
  // What embed() made and finish() finished, on the host, to its places in `out`: see
  // Encoder::encode().
  void scatter(const at::Tensor& embeddings, const PackedBatch& batch, std::span<float> out) const;
};

// Ids below the vocabulary's size and lengths within the model's limit, on the host: on a GPU a bad
// id is a device-side assert that ends the process. Throws Error kData "batch.token_id" or
// "batch.length", naming the window row.
void check_batch(const PackedBatch& batch, const Transformer& transformer);

// `threads`: see EncoderOptions.
std::unique_ptr<Encoder> make_cpu_encoder(Transformer transformer, int64_t threads);
std::unique_ptr<Encoder> make_cuda_encoder(Transformer transformer);

}  // namespace encode
