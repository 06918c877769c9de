// Times the matrix products of a model alone, without the operations between them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "encode/batch.h"
#include "encode/device.h"
#include "encode/product_rates.h"

#include "base/thread_pool.h"
#include "engine/load_encoder.h"
#include "engine/load_transformer.h"

namespace encode {

// One thread at a time may use it.
class ProductBench {
 public:
  // Loads the model. Throws what load_encoder() throws.
  ProductBench(const ModelDirectory& directory, const EffectiveResult& effective,
               const EncoderOptions& options);

  const DeviceFacts& device() const { return device_; }
  const std::vector<LoadNote>& notes() const { return loaded_.notes; }

  // For about `seconds`, repeats the matrix products of Encoder::encode() for `batches`, with the
  // same weights, shapes and number of threads, but on random activations. Calls `go_on` after each
  // batch, from any thread, and ends early if `go_on` returns false. Throws what Encoder::encode()
  // throws.
  ProductRates run(std::span<const PackedBatch> batches, double seconds,
                   const std::function<bool()>& go_on);

 private:
  LoadedTransformer loaded_;
  ThreadPool pool_;
  DeviceFacts device_;
};

}  // namespace encode
