#include <memory>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "encode/batch_plan.h"

#include "engine/batch_pipeline.h"
#include "engine/device_facts.h"
#include "engine/transformer.h"
#include "nn/cuda/cuda_device.h"
#include "nn/cuda/cuda_kernels.h"

namespace encode {
namespace {

// While an object exists, LibTorch's operations on host tensors of this thread use one thread. The
// last steps of a batch are small, and the other cores are needed to tokenize and to write. With
// one thread, the bits of a sum also do not depend on the number of cores.
class OneHostThread {
 public:
  OneHostThread() { at::set_num_threads(1); }
  OneHostThread(const OneHostThread&) = delete;
  OneHostThread& operator=(const OneHostThread&) = delete;
  ~OneHostThread() { at::set_num_threads(before_); }

 private:
  const int before_ = at::get_num_threads();
};

// Pads each batch to a multiple of EffectiveResult::launch_tokens, so that every matrix product has
// the same shape and the library chooses the same kernel for it. Otherwise the bits of a row would
// depend on the number of tokens in its batch.
class CudaEncoder : public Encoder, private BatchDevice {
 public:
  explicit CudaEncoder(Transformer transformer)
      : transformer_(std::move(transformer)),
        device_(device_facts(transformer_.device, /*threads=*/1)),
        pipeline_(*this, batches_ahead(transformer_.effective.token_embeddings())) {
    device_.kernels =
        open_cuda_kernels(transformer_.device, compute_type(transformer_.format)).names();
  }

  bool encode(std::span<const PackedBatch> batches, std::span<float> out,
              const OnBatch& done) override {
    return encode_ahead(batches, out, done, {});
  }
  bool encode_ahead(std::span<const PackedBatch> batches, std::span<float> out, const OnBatch& done,
                    const NextBatches& next) override {
    const OneHostThread one_host_thread;
    const c10::InferenceMode inference;
    return pipeline_.encode(batches, out, done, next);
  }

  int64_t dim() const override { return transformer_.effective.dim; }
  bool token_embeddings() const override { return transformer_.effective.token_embeddings(); }
  int64_t vocab_size() const override { return transformer_.vocab_size; }
  int64_t max_length() const override { return transformer_.effective.max_length; }
  int64_t token_slots(int64_t tokens) const override { return transformer_.token_slots(tokens); }
  const DeviceFacts& device() const override { return device_; }
  void release_cached_memory() noexcept override {
    encode::release_cached_memory(transformer_.device);
  }
  DeviceMemory memory() const override { return device_memory(transformer_.device); }

 private:
  struct Vectors : Launched {
    // [B, dim] float32 in pinned host memory. Valid when the device has reached `copied`.
    at::Tensor embeddings;
    c10::Event copied{c10::kCUDA};
  };

  void check(const PackedBatch& batch) override { check_batch(batch, transformer_); }

  std::unique_ptr<Launched> launch(const PackedBatch& batch) override {
    const at::Tensor embeddings = transformer_.embed(batch, token_slots(batch.tokens()));
    auto vectors = std::make_unique<Vectors>();
    vectors->embeddings =
        at::empty(embeddings.sizes(), at::TensorOptions().dtype(at::kFloat).pinned_memory(true));
    vectors->embeddings.copy_(embeddings, /*non_blocking=*/true);
    vectors->copied.record(c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(transformer_.device));
    return vectors;
  }

  void finish(Launched& launched, const PackedBatch& batch, std::span<float> out) override {
    auto& vectors = static_cast<Vectors&>(launched);
    vectors.copied.synchronize();
    transformer_.head.finish(vectors.embeddings);
    transformer_.scatter(vectors.embeddings, batch, out);
  }

  void synchronize() override { encode::synchronize(transformer_.device); }

  Transformer transformer_;
  DeviceFacts device_;
  BatchPipeline pipeline_;
};

}  // namespace

std::unique_ptr<Encoder> make_cuda_encoder(Transformer transformer) {
  return std::make_unique<CudaEncoder>(std::move(transformer));
}

}  // namespace encode
