#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "engine/product_timer.h"
#include "engine/thread_pool.h"
#include "engine/transformer.h"
#include "nn/cuda/device.h"

namespace encode {
namespace {

// The size of a launch where the options name none: enough to fill the largest GPU with the
// smallest model.
constexpr int64_t kDefaultBatchTokens = 16384;

// Every launch has the same number of token slots, so that every matrix product has the same shape
// and the library picks the same kernel for it: otherwise a row's bits would depend on how full its
// batch was.
class CudaEncoder : public Encoder {
 public:
  CudaEncoder(Transformer transformer, const EncoderOptions& options)
      : transformer_(std::move(transformer)),
        slots_(std::max(options.batch_tokens > 0 ? options.batch_tokens : kDefaultBatchTokens,
                        std::min(transformer_.max_length, kDefaultBatchTokens))),
        name_(transformer_.device.str() + " " + device_description(transformer_.device)) {}

  bool encode(std::span<const PackedBatch> batches, std::span<float> out,
              const BatchDone& done) override {
    for (const PackedBatch& batch : batches) check_batch(batch, transformer_);
    const c10::InferenceMode inference;
    // One batch ahead: while the device computes batch i, the host reads the result of batch i - 1.
    Pending pending;
    for (size_t i = 0; i <= batches.size(); ++i) {
      Pending next;
      if (i < batches.size()) next = launch(batches[i]);
      if (i > 0) {
        pending.copied.synchronize();
        transformer_.head.finish(pending.embeddings);
        transformer_.scatter(pending.embeddings, batches[i - 1], out);
        if (!done(batches[i - 1])) {
          synchronize(transformer_.device);
          return false;
        }
      }
      pending = std::move(next);
    }
    synchronize(transformer_.device);
    return true;
  }

  ProductRates time_products(std::span<const PackedBatch> batches, double seconds,
                             const std::function<bool()>& go_on) override {
    ThreadPool caller(1, [] {});
    ProductTimer timer(transformer_, caller);
    for (const PackedBatch& batch : batches) timer.add(batch, token_slots(batch.tokens()));
    return timer.run(seconds, go_on);
  }

  int64_t dim() const override { return transformer_.dim; }
  bool token_embeddings() const override { return transformer_.token_embeddings; }
  int64_t vocab_size() const override { return transformer_.vocab_size; }
  int64_t max_length() const override { return transformer_.max_length; }
  int64_t batch_tokens() const override { return slots_; }
  int64_t window_tokens() const override { return kWindowBatches * slots_; }
  // A sequence longer than a launch gets the next multiple of it.
  int64_t token_slots(int64_t tokens) const override {
    return (tokens + slots_ - 1) / slots_ * slots_;
  }
  std::string device_name() const override { return name_; }
  void release_cached_memory() noexcept override {
    encode::release_cached_memory(transformer_.device);
  }
  DeviceMemory memory() const override { return device_memory(transformer_.device); }

 private:
  struct Pending {
    at::Tensor
        embeddings;  // [B, dim] float32, pinned host memory, valid once `copied` has happened
    c10::Event copied{c10::kCUDA};
  };

  Pending launch(const PackedBatch& batch) const {
    const at::Tensor embeddings = transformer_.embed(batch, token_slots(batch.tokens()));
    Pending pending;
    pending.embeddings =
        at::empty(embeddings.sizes(), at::TensorOptions().dtype(at::kFloat).pinned_memory(true));
    pending.embeddings.copy_(embeddings, /*non_blocking=*/true);
    pending.copied.record(c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(transformer_.device));
    return pending;
  }

  Transformer transformer_;
  int64_t slots_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Encoder> make_cuda_encoder(Transformer transformer, const EncoderOptions& options) {
  return std::make_unique<CudaEncoder>(std::move(transformer), options);
}

}  // namespace encode
