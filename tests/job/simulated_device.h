// A simulated GPU: it takes the times of a model, and measures how long it is idle.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>

#include "encode/batch_plan.h"
#include "encode/encoder.h"

#include "engine/batch_pipeline.h"

namespace encode::testing {

// Times of the device and of the host, in seconds.
struct DeviceTimes {
  double batch = 0;                       // of the device, for a batch of `batch_slots`
  int64_t batch_slots = 1;                // token slots
  double launch = 0;                      // of the host, for a batch
  double window = 0;                      // of the host, between two windows
  double vector_bytes_per_second = 1e18;  // of the host, between two windows
  double release = 0;                     // of the host, to give memory back and to take it again
};

// An encoder on a device with a clock of its own, so that results do not depend on how busy this
// machine is. BatchPipeline is real. Launches, waits and the host's work between two windows move
// the clock; the tokenizing threads and the disk take no time. A row has the vector (its first id,
// its second id, 1, 0, 0, ..).
class SimulatedEncoder : public Encoder, private BatchDevice {
 public:
  // `rows` is the number of rows of the stream. They must differ from each other.
  SimulatedEncoder(int64_t rows, int64_t dim, int64_t launch_tokens, const DeviceTimes& times)
      : rows_(rows), dim_(dim), launch_tokens_(launch_tokens), times_(times) {
    facts_ = {.kind = DeviceKind::kCuda, .name = "simulated"};
  }

  bool keeps_busy = true;  // false: the device does not begin the next window early
  // The next window must be known at the end of each window, so the encoder waits for it.
  bool awaits_next = true;
  std::function<void(const PackedBatch&)> on_launch = [](const PackedBatch&) {};
  std::function<void(const PackedBatch&)> on_finish = [](const PackedBatch&) {};
  int64_t launches = 0;
  int64_t releases = 0;  // the releases that found unused memory

  // The share of the time in which the device is idle, from the first launch to the end of the last
  // batch.
  double idle_share() const { return idle_ / (free_at_ - first_start_); }

  bool encode(std::span<const PackedBatch> batches, std::span<float> out,
              const OnBatch& done) override {
    return encode_ahead(batches, out, done, {});
  }
  bool encode_ahead(std::span<const PackedBatch> batches, std::span<float> out, const OnBatch& done,
                    const NextBatches& next) override {
    if (launches > 0) now_ += times_.window + vector_bytes_ / times_.vector_bytes_per_second;
    vector_bytes_ = static_cast<double>(out.size_bytes());
    for (const PackedBatch& batch : batches) rows_begun_ += batch.sequences();
    if (!next || !keeps_busy) return pipeline_.encode(batches, out, done, {});
    return pipeline_.encode(batches, out, done, [&] { return await(next); });
  }
  int64_t dim() const override { return dim_; }
  bool token_embeddings() const override { return false; }
  int64_t vocab_size() const override { return 1'000'000; }
  int64_t max_length() const override { return 512; }
  int64_t token_slots(int64_t tokens) const override {
    return (tokens + launch_tokens_ - 1) / launch_tokens_ * launch_tokens_;
  }
  const DeviceFacts& device() const override { return facts_; }
  void release_cached_memory() noexcept override {
    if (unused_bytes_ == 0) return;
    ++releases;
    now_ = std::max(now_, free_at_) + times_.release;
    unused_bytes_ = 0;
  }
  DeviceMemory memory() const override {
    return {.allocated_bytes = kModelBytes, .reserved_bytes = kModelBytes + unused_bytes_};
  }

 private:
  static constexpr int64_t kModelBytes = 50'000'000;
  static constexpr int64_t kWorkingSetBytes = 300'000'000;

  struct Timed : Launched {
    double done_at = 0;
  };

  std::span<const PackedBatch> await(const NextBatches& next) const {
    std::span<const PackedBatch> batches = next();
    while (awaits_next && batches.empty() && rows_begun_ < rows_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      batches = next();
    }
    return batches;
  }

  void check(const PackedBatch& /*batch*/) override {}
  std::unique_ptr<Launched> launch(const PackedBatch& batch) override {
    on_launch(batch);
    now_ += times_.launch;
    const double start = std::max(now_, free_at_);
    if (launches == 0) first_start_ = free_at_ = start;
    ++launches;
    idle_ += start - free_at_;
    free_at_ = start + times_.batch * static_cast<double>(token_slots(batch.tokens())) /
                           static_cast<double>(times_.batch_slots);
    unused_bytes_ = kWorkingSetBytes;
    auto launched = std::make_unique<Timed>();
    launched->done_at = free_at_;
    return launched;
  }
  void finish(Launched& launched, const PackedBatch& batch, std::span<float> out) override {
    on_finish(batch);
    now_ = std::max(now_, static_cast<Timed&>(launched).done_at);
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      const auto begin = static_cast<size_t>(batch.cu_seqlens[b]);
      float* const vector = out.data() + batch.sequence_numbers[b] * dim_;
      vector[0] = static_cast<float>(batch.input_ids[begin]);
      vector[1] = static_cast<float>(batch.input_ids[begin + 1]);
      vector[2] = 1;
    }
  }
  void synchronize() override { now_ = std::max(now_, free_at_); }

  const int64_t rows_;
  const int64_t dim_;
  const int64_t launch_tokens_;
  const DeviceTimes times_;
  DeviceFacts facts_;
  int64_t rows_begun_ = 0;  // the rows of all windows up to the window that is being encoded
  int64_t unused_bytes_ = 0;
  double vector_bytes_ = 0;  // of the window
  double now_ = 0;           // the host's time
  double free_at_ = 0;       // when the device has computed what was launched
  double first_start_ = 0;
  double idle_ = 0;
  BatchPipeline pipeline_{*this, batches_ahead(false)};
};

}  // namespace encode::testing
