// A model with its head on a device. It turns token ids into embeddings.
#pragma once

#include <cstdint>
#include <memory>

#include "encode/batch.h"
#include "encode/encoder.h"
#include "encode/model_directory.h"

#include "engine/head.h"
#include "models/model.h"
#include "nn/layers/product_trace.h"

namespace encode {

// Immutable after loading. Any number of threads may call it, with the exception that Linear
// (nn/layers/linear.h) states.
struct Transformer {
  std::unique_ptr<ProductTrace> trace;  // model and head record their matrix products in it
  std::unique_ptr<Model> model;
  EmbeddingHead head;
  at::Device device;
  ProductFormat format;  // of the model's matrix products
  EffectiveResult effective;
  int64_t vocab_size = 0;

  // Returns the vectors of the batch as float32 on the device, [V, width], where V is the sum of
  // batch.vectors. The caller copies the result to the host and calls head.finish(), which gives it
  // effective.dim columns. `slots` is at least batch.tokens() (see PackedInput).
  at::Tensor embed(const PackedBatch& batch, int64_t slots) const;
  // Returns the number of slots that embed() should be given for a batch of `tokens` tokens. On a
  // GPU this is a multiple of effective.launch_tokens. On a CPU it is the number that cpu_slots()
  // returns.
  int64_t token_slots(int64_t tokens) const;
  // Copies the rows of `embeddings`, which is on the host and finished, to their places in `out`.
  // Encoder::encode() defines these places.
  void scatter(const at::Tensor& embeddings, const PackedBatch& batch, std::span<float> out) const;
};

// Throws Error (ExitCode::kData) that names the sequence: "batch.token_id" if an id is not
// below the size of the vocabulary, "batch.length" if a sequence is longer than the model's limit.
// The check runs on the host, because a bad id on a GPU fails an assert that ends the process.
void check_batch(const PackedBatch& batch, const Transformer& transformer);

// EncoderOptions explains `threads`. Each Encoder owns its transformer.
std::unique_ptr<Encoder> make_cpu_encoder(Transformer transformer, int64_t threads);
std::unique_ptr<Encoder> make_cuda_encoder(Transformer transformer);

}  // namespace encode
