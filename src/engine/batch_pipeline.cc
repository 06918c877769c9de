#include "engine/batch_pipeline.h"

#include <algorithm>
#include <utility>

namespace encode {

bool BatchPipeline::encode(std::span<const PackedBatch> batches, std::span<float> out,
                           const Encoder::OnBatch& done, const Encoder::NextBatches& next) {
  try {
    return run(batches, out, done, next);
  } catch (...) {
    // The device may have failed, so nothing waits for it.
    launched_.clear();
    ahead_.clear();
    throw;
  }
}

bool BatchPipeline::run(std::span<const PackedBatch> batches, std::span<float> out,
                        const Encoder::OnBatch& done, const Encoder::NextBatches& next) {
  for (const PackedBatch& batch : batches) device_.check(batch);
  if (!begins_with_ahead(batches)) drop();
  ahead_.clear();
  size_t launches = launched_.size();  // of this window
  bool knows_next = !next;
  for (size_t i = 0; i < batches.size(); ++i) {
    // While the device computes batch i, the host launches batch i + 1 and reads the vectors of
    // batch i - 1.
    while (launches < batches.size() && launches < i + 2)
      launched_.push_back(device_.launch(batches[launches++]));
    if (launches == batches.size() && !knows_next) {
      const std::span<const PackedBatch> ahead = next();
      knows_next = !ahead.empty();
      launch_ahead(ahead);
    }
    device_.finish(*launched_.front(), batches[i], out);
    launched_.pop_front();
    if (!done(batches[i])) {
      drop();
      return false;
    }
  }
  // An error that the device reports late belongs to this window if nothing else runs.
  if (launched_.empty()) device_.synchronize();
  return true;
}

// The contents decide, because another batch may be at the same address by now.
bool BatchPipeline::begins_with_ahead(std::span<const PackedBatch> batches) const {
  return ahead_.size() <= batches.size() &&
         std::equal(ahead_.begin(), ahead_.end(), batches.begin());
}

void BatchPipeline::launch_ahead(std::span<const PackedBatch> batches) {
  try {
    ahead_.reserve(most_ahead_);
    for (const PackedBatch& batch : batches.first(std::min(batches.size(), most_ahead_))) {
      device_.check(batch);
      PackedBatch copy = batch;
      launched_.push_back(device_.launch(batch));
      ahead_.push_back(std::move(copy));
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // The rows of this window are not to blame. The next call launches the batch again, and meets
    // the failure if there still is one. A device that is lost fails at the next wait.
  }
}

// Forgets what was launched, after the device has finished it.
void BatchPipeline::drop() {
  if (launched_.empty()) return;
  device_.synchronize();
  launched_.clear();
  ahead_.clear();
}

}  // namespace encode
