#include <atomic>
#include <malloc.h>
#include <mutex>
#include <utility>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "base/thread_pool.h"
#include "engine/device_facts.h"
#include "engine/transformer.h"

namespace encode {
namespace {

// Each thread takes one small batch through the whole model. So the activations stay in the cache
// of the core, no layer waits for another thread, and the bits of a row do not depend on the number
// of threads.
class CpuEncoder : public Encoder {
 public:
  CpuEncoder(Transformer transformer, int64_t threads)
      : transformer_(std::move(transformer)),
        pool_(compute_threads(transformer_.device, threads), [] { at::set_num_threads(1); }),
        device_(device_facts(transformer_.device, pool_.threads())) {
    // Returns the freed pages of the original weights, which were repacked, to the system.
    ::malloc_trim(0);
  }

  bool encode(std::span<const PackedBatch> batches, std::span<float> out,
              const OnBatch& done) override {
    for (const PackedBatch& batch : batches) check_batch(batch, transformer_);
    std::atomic<bool> stopped = false;
    std::mutex done_mutex;
    pool_.run(static_cast<int64_t>(batches.size()), [&](int64_t i) {
      if (stopped.load(std::memory_order_relaxed)) return;
      const PackedBatch& batch = batches[static_cast<size_t>(i)];
      const c10::InferenceMode inference;
      at::Tensor embeddings = transformer_.embed(batch, token_slots(batch.tokens()));
      transformer_.head.finish(embeddings);
      transformer_.scatter(embeddings, batch, out);
      const std::lock_guard lock(done_mutex);
      if (!done(batch)) stopped = true;
    });
    return !stopped;
  }

  int64_t dim() const override { return transformer_.effective.dim; }
  bool token_embeddings() const override { return transformer_.effective.token_embeddings(); }
  int64_t vocab_size() const override { return transformer_.vocab_size; }
  int64_t max_length() const override { return transformer_.effective.max_length; }
  int64_t token_slots(int64_t tokens) const override { return transformer_.token_slots(tokens); }
  const DeviceFacts& device() const override { return device_; }
  void release_cached_memory() noexcept override {}
  DeviceMemory memory() const override { return {}; }

 private:
  Transformer transformer_;
  ThreadPool pool_;
  DeviceFacts device_;
};

}  // namespace

std::unique_ptr<Encoder> make_cpu_encoder(Transformer transformer, int64_t threads) {
  return std::make_unique<CpuEncoder>(std::move(transformer), threads);
}

}  // namespace encode
