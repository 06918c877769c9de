// Start here: the line that runs the model.
//
//   encoder.encode(batch, rows)   PackedBatch [T] tokens -> one embedding [dim] float32 for every
//   row of the batch
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "encode/batch.h"
#include "encode/device.h"

namespace encode {

// A model on a device. One thread at a time; the thread that calls encode() should be the one that
// created it, since OpenMP keeps a pool of threads per calling thread.
//
// Same row, same vector: the bits of a row depend on its token ids, the model, ResultOptions and
// the kind of device alone, never on the other rows of the batch or on the size of the batch.
class Encoder {
 public:
  virtual ~Encoder() = default;

  // Called after each batch, from one thread at a time; false asks to stop.
  using OnBatch = std::function<bool(const PackedBatch&)>;

  // Writes the embedding of sequence b of each batch to out[batch.rows[b] * dim(), ... + dim()).
  // `out` is row-major [window rows, dim()] float32 host memory. With token_embeddings() the
  // vectors of sequence b begin at out[batch.token_offsets[b] * dim()], one for each of its tokens,
  // and `out` is [window tokens, dim()]. Returns after the device has finished: true, or false when
  // `done` asked to stop, and then `out` is incomplete. Throws Error (kData for a token id outside
  // [0, vocab_size()) and for a sequence longer than max_length()) or c10::Error.
  virtual bool encode(std::span<const PackedBatch> batches, std::span<float> out,
                      const OnBatch& done) = 0;

  virtual int64_t dim() const = 0;            // width of an embedding
  virtual bool token_embeddings() const = 0;  // PoolingMode::kNone
  virtual int64_t vocab_size() const = 0;
  virtual int64_t max_length() const = 0;  // tokens, the longest sequence that it takes
  // How many tokens encode() computes for a batch of so many: as many, or more that hold nothing.
  virtual int64_t token_slots(int64_t tokens) const = 0;

  virtual const DeviceFacts& device() const = 0;
  // Gives the caching allocator's unused blocks back to the device. Never throws; a no-op on CPU.
  virtual void release_cached_memory() noexcept = 0;
  virtual DeviceMemory memory() const = 0;
};

}  // namespace encode
