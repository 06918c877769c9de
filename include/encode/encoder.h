// Start here: the line that runs the model.
//
//   encoder.encode(batch, rows)   PackedBatch [T] tokens -> one embedding [dim] float32 for every
//   row of the batch
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "encode/batch.h"
#include "encode/config.h"
#include "encode/product_rates.h"

namespace encode {

struct EncoderOptions {
  ResultOptions result;
  HardwareOptions hardware;
  int64_t threads = 0;       // CPU compute threads; 0: the container's CPU quota
  int64_t batch_tokens = 0;  // tokens in a batch at most; 0: chosen for the device
};

// What memory a device holds, for the log. All bytes; zero on CPU.
struct DeviceMemory {
  int64_t allocated_bytes = 0;
  int64_t reserved_bytes = 0;
  int64_t peak_allocated_bytes = 0;
  int64_t total_bytes = 0;
};

// A model on a device. One thread at a time; the thread that calls encode() should be the one that
// created it, since OpenMP keeps a pool of threads per calling thread.
//
// Same row, same vector: the bits of a row depend on its token ids, the model, ResultOptions and
// the kind of device alone, never on the other rows of the batch or on the size of the batch.
class Encoder {
 public:
  virtual ~Encoder() = default;

  // Called after each batch, from one thread at a time; false asks to stop.
  using BatchDone = std::function<bool(const PackedBatch&)>;

  // Writes the embedding of sequence b of each batch to out[batch.rows[b] * dim(), ... + dim()).
  // `out` is row-major [window rows, dim()] float32 host memory. With token_embeddings() the
  // vectors of sequence b begin at out[batch.token_offsets[b] * dim()], one for each of its tokens,
  // and `out` is [window tokens, dim()]. Returns after the device has
  // finished: true, or false where `done` asked to stop, and then `out` is incomplete. Throws Error
  // (kData where a token id is not in [0, vocab_size()), or a sequence is longer than max_length())
  // or c10::Error.
  virtual bool encode(std::span<const PackedBatch> batches, std::span<float> out,
                      const BatchDone& done) = 0;

  // The matrix products that encode() makes of `batches`, by themselves, again and again for about
  // `seconds`: the same weights, shapes and threads, on random activations. `go_on` is asked after
  // each batch, from any thread; false ends it early.
  virtual ProductRates time_products(std::span<const PackedBatch> batches, double seconds,
                                     const std::function<bool()>& go_on) = 0;

  virtual int64_t dim() const = 0;            // width of an embedding
  virtual bool token_embeddings() const = 0;  // PoolingMode::kNone
  virtual int64_t vocab_size() const = 0;
  virtual int64_t max_length() const = 0;    // tokens, the longest sequence it takes
  virtual int64_t batch_tokens() const = 0;  // the capacity to pack batches with
  // Tokens that encode() should be given at once, at least: at the end of a call threads wait for
  // each other, and a launch may not be full.
  virtual int64_t window_tokens() const = 0;
  // What encode() computes a batch of so many tokens on: as many slots, or more that hold nothing.
  virtual int64_t token_slots(int64_t tokens) const = 0;
  virtual std::string device_name() const = 0;  // "cpu (2 threads)", "cuda:0 NVIDIA H100 80GB HBM3"

  // Gives the caching allocator's unused blocks back to the device. Never throws; a no-op on CPU.
  virtual void release_cached_memory() noexcept = 0;
  virtual DeviceMemory memory() const = 0;
};

// Loads weights to the device. Throws Error for a broken model directory (see model_dir/) or an
// absent device.
std::unique_ptr<Encoder> load_encoder(const EncoderOptions& options);

}  // namespace encode
