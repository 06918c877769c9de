#include "engine/product_bench.h"

#include <ATen/Parallel.h>

#include "engine/device_facts.h"
#include "engine/product_timer.h"

namespace encode {

ProductBench::ProductBench(const ModelDirectory& directory, const EffectiveResult& effective,
                           const EncoderOptions& options)
    : loaded_(load_transformer(directory, effective, options)),
      pool_(compute_threads(loaded_.transformer.device, options.threads),
            [] { at::set_num_threads(1); }),
      device_(device_facts(loaded_.transformer.device, pool_.threads())) {}

ProductRates ProductBench::run(std::span<const PackedBatch> batches, double seconds,
                               const std::function<bool()>& go_on) {
  ProductTimer timer(loaded_.transformer, pool_);
  for (const PackedBatch& batch : batches)
    timer.add(batch, loaded_.transformer.token_slots(batch.tokens()));
  return timer.run(seconds, go_on);
}

}  // namespace encode
