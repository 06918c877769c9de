// A model's matrix products by themselves, on the device and threads that encode with it.
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

// One thread.
class ProductBench {
 public:
  // Loads the model. Throws as load_encoder().
  ProductBench(const ModelDirectory& directory, const EffectiveResult& effective,
               const EncoderOptions& options);

  const DeviceFacts& device() const { return device_; }
  const std::vector<LoadNote>& notes() const { return loaded_.notes; }

  // The products that encoding `batches` makes, again and again for about `seconds`: the same
  // weights, shapes and threads, on random activations. `go_on` is asked after each batch, from any
  // thread; false ends it early. Throws as Encoder::encode().
  ProductRates run(std::span<const PackedBatch> batches, double seconds,
                   const std::function<bool()>& go_on);

 private:
  LoadedTransformer loaded_;
  ThreadPool pool_;
  DeviceFacts device_;
};

}  // namespace encode
