// Keeps a device busy that computes asynchronously: from batch to batch, and from the last batch of
// a window to the first batches of the next window.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "encode/batch.h"
#include "encode/encoder.h"

namespace encode {

// A device that computes batches in the order of their launches. One thread calls the functions.
class BatchDevice {
 public:
  // A batch that was launched, and the place of its vectors.
  class Launched {
   public:
    virtual ~Launched() = default;
  };

  virtual ~BatchDevice() = default;
  // Throws Error kData if the model cannot encode a row of the batch.
  virtual void check(const PackedBatch& batch) = 0;
  // Queues the batch on the device, without waiting.
  virtual std::unique_ptr<Launched> launch(const PackedBatch& batch) = 0;
  // Waits until the device has computed the batch, and copies its vectors to their places in `out`.
  // Encoder::encode() defines these places.
  virtual void finish(Launched& launched, const PackedBatch& batch, std::span<float> out) = 0;
  // Waits for all work on the device.
  virtual void synchronize() = 0;
};

// Not thread-safe.
class BatchPipeline {
 public:
  // `device` must outlive the pipeline. encode() launches at most `most_ahead` batches of the next
  // window.
  BatchPipeline(BatchDevice& device, int64_t most_ahead)
      : device_(device), most_ahead_(static_cast<size_t>(most_ahead)) {}

  // Implements Encoder::encode_ahead(). `next` may be empty. While the device computes a batch of
  // the window, the following batch is already queued. Throws what the functions of the device
  // throw, except for the check and the launch of batches of the next window.
  bool encode(std::span<const PackedBatch> batches, std::span<float> out,
              const Encoder::OnBatch& done, const Encoder::NextBatches& next);

 private:
  bool run(std::span<const PackedBatch> batches, std::span<float> out, const Encoder::OnBatch& done,
           const Encoder::NextBatches& next);
  bool begins_with_ahead(std::span<const PackedBatch> batches) const;
  void launch_ahead(std::span<const PackedBatch> batches);
  void drop();

  BatchDevice& device_;
  const size_t most_ahead_;
  std::deque<std::unique_ptr<BatchDevice::Launched>> launched_;  // the oldest first
  // Copies of the launched batches of the next window, which are at the end of launched_. Between
  // two calls, launched_ has no other batches.
  std::vector<PackedBatch> ahead_;
};

}  // namespace encode
