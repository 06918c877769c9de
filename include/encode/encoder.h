// Start here: this interface runs the model.
//
//   encoder.encode(batches, out, done)   token ids -> float32 vectors [dim], one for each sequence,
//                                        token or span
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "encode/batch.h"
#include "encode/device.h"

namespace encode {

// A model that is loaded on a device. One thread at a time may call it. That should be the thread
// that created it, because OpenMP keeps a pool of threads for each calling thread.
//
// Equal sequences give equal vectors. The bits of a vector depend only on the token ids of its
// sequence, its span if it has one, the model, ResultOptions and the kind of device. They do not
// depend on the other sequences and spans of the batch, or on the size of the batch.
class Encoder {
 public:
  virtual ~Encoder() = default;

  // Called after each batch, when its vectors are in `out`. The calls may come from several
  // threads, but never at the same time. Returns false to stop.
  using OnBatch = std::function<bool(const PackedBatch&)>;

  // Encodes the sequences of one window. `out` is host memory of the caller, row-major float32 [all
  // vectors of the window, dim()]. Sequence b of a batch has batch.vectors[b] vectors, from row
  // batch.first_vectors[b] of `out` on: one for each token with token_embeddings(), one for each
  // span with batch.spans, and otherwise one.
  // Returns after the device has finished: true, or false if `done` asked to stop. After false,
  // `out` is incomplete. Throws c10::Error for a failure of the device, and Error kData
  // - "batch.token_id" if a token id is outside [0, vocab_size()),
  // - "batch.length" if a sequence is longer than max_length().
  virtual bool encode(std::span<const PackedBatch> batches, std::span<float> out,
                      const OnBatch& done) = 0;

  // Returns the batches with which the next call will begin, or nothing if they are not known. They
  // stay valid until the next call.
  using NextBatches = std::function<std::span<const PackedBatch>()>;

  // Does what encode() does, and on a GPU also begins the work of the next call. After the last
  // batch of this call has been launched, and before each wait for a batch that is still running,
  // the encoder calls `next` on the caller's thread, until `next` has once returned batches. It
  // launches the first few of these and does not wait for them. The next call uses their results if
  // its first batches are equal to them, and drops the results otherwise. So the vectors do not
  // depend on `next`, which may be empty.
  // - If a batch of `next` cannot be launched, this call succeeds, and the next call fails.
  // - If the device is lost after the launch of a batch of `next`, this call fails.
  virtual bool encode_ahead(std::span<const PackedBatch> batches, std::span<float> out,
                            const OnBatch& done, const NextBatches& /*next*/) {
    return encode(batches, out, done);
  }

  virtual int64_t dim() const = 0;            // the width of an embedding
  virtual bool token_embeddings() const = 0;  // true for PoolingMode::kNone
  virtual int64_t vocab_size() const = 0;
  virtual int64_t max_length() const = 0;  // the most tokens in a sequence
  // Returns the number of token positions that encode() computes for a batch with this number of
  // tokens. It is at least `tokens`; the other positions are padding.
  virtual int64_t token_slots(int64_t tokens) const = 0;

  virtual const DeviceFacts& device() const = 0;
  // Returns the unused blocks of the caching allocator to the device. Does nothing on a CPU.
  virtual void release_cached_memory() noexcept = 0;
  virtual DeviceMemory memory() const = 0;
};

}  // namespace encode
