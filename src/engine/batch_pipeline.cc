#include "engine/batch_pipeline.h"

#include <algorithm>
#include <utility>

namespace encode {

bool BatchPipeline::encode(std::span<const PackedBatch> batches, std::span<float> out,
                           const Encoder::OnBatch& done, const Encoder::NextBatches& next) {
  try {
    return run(batches, out, done, next);
  } catch (...) {
    // Does not wait for the device, because it may have failed.
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
  size_t launches = launched_.size();  // the batches of this window that were launched
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
  // If nothing else runs, an error that the device reports late must come from this window.
  if (launched_.empty()) device_.synchronize();
  return true;
}

// Compares the contents and not the addresses, because another batch may be at the same address by
// now.
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
    // The error is ignored, because the rows of this window did not cause it. The next call
    // launches the batch again and reports an error. If the device is lost, the next wait fails.
  }
}

// Drops the results of the batches that were launched ahead, after the device has finished them.
void BatchPipeline::drop() {
  if (launched_.empty()) return;
  device_.synchronize();
  launched_.clear();
  ahead_.clear();
}

}  // namespace encode
