#include "engine/product_bench.h"

#include <ATen/Parallel.h>

#include "base/host.h"
#include "engine/device_facts.h"
#include "engine/product_timer.h"

namespace encode {
namespace {

// One on a GPU: the products are queued there one after the other.
int64_t threads_for(at::Device device, int64_t wished) {
  if (device.is_cuda()) return 1;
  return wished > 0 ? wished : cpu_quota();
}

}  // namespace

ProductBench::ProductBench(const ModelDirectory& directory, const EffectiveResult& effective,
                           const EncoderOptions& options)
    : loaded_(load_transformer(directory, effective, options.hardware)),
      pool_(threads_for(loaded_.transformer.device, options.threads),
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
