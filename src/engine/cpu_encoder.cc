#include <atomic>
#include <malloc.h>
#include <mutex>
#include <string>
#include <utility>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "base/host.h"
#include "engine/product_timer.h"
#include "engine/thread_pool.h"
#include "engine/transformer.h"
#include "kernels/kernels.h"
#include "nn/layers/linear.h"

namespace encode {
namespace {

// One small batch a thread, from the embedding to the pooled row: the activations stay in the
// core's own cache, no layer waits for another thread, and a row's bits do not depend on the number
// of threads.
class CpuEncoder : public Encoder {
 public:
  CpuEncoder(Transformer transformer, const EncoderOptions& options)
      : transformer_(std::move(transformer)),
        pool_(options.threads > 0 ? options.threads : cpu_quota(), [] { at::set_num_threads(1); }) {
    // The weights were read and repacked one by one; give the pages of the originals back.
    ::malloc_trim(0);
  }

  bool encode(std::span<const PackedBatch> batches, std::span<float> out,
              const BatchDone& done) override {
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

  ProductRates time_products(std::span<const PackedBatch> batches, double seconds,
                             const std::function<bool()>& go_on) override {
    ProductTimer timer(transformer_, pool_);
    for (const PackedBatch& batch : batches) timer.add(batch, token_slots(batch.tokens()));
    return timer.run(seconds, go_on);
  }

  int64_t dim() const override { return transformer_.dim; }
  bool token_embeddings() const override { return transformer_.token_embeddings; }
  int64_t vocab_size() const override { return transformer_.vocab_size; }
  int64_t max_length() const override { return transformer_.max_length; }
  // One block, whatever the options allow: a larger batch would only leave the core's cache.
  int64_t batch_tokens() const override { return kCpuBlockTokens; }
  int64_t window_tokens() const override {
    return kWindowBatches * kCpuBlockTokens * pool_.threads();
  }
  int64_t token_slots(int64_t tokens) const override {
    return cpu_slots(tokens, transformer_.format);
  }
  std::string device_name() const override {
    return std::string("cpu (") + kernels::to_string(kernels::capability()) + ")";
  }
  void release_cached_memory() noexcept override {}
  DeviceMemory memory() const override { return {}; }

 private:
  Transformer transformer_;
  ThreadPool pool_;
};

}  // namespace

std::unique_ptr<Encoder> make_cpu_encoder(Transformer transformer, const EncoderOptions& options) {
  return std::make_unique<CpuEncoder>(std::move(transformer), options);
}

}  // namespace encode
