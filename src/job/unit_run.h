// The loop: windows in, rows encoded, chunks committed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "encode/batch_plan.h"
#include "encode/stage_seconds.h"

#include "job/commit_thread.h"
#include "job/loaded_model.h"
#include "job/window_producer.h"
#include "job/worker_context.h"

namespace encode {

// Encodes one unit of the job on the model that it needs, once. One thread.
class UnitRun {
 public:
  // All three must outlive it.
  UnitRun(const WorkerContext& context, int64_t unit, LoadedModel& model);

  // False when it was asked to stop: committed chunks are safe, the one being encoded is dropped.
  // Throws Error and c10::Error.
  bool run();

 private:
  bool encode_all(WindowProducer& producer, CommitThread& committer);
  bool encode_window(const Window& window, std::span<float> values);
  bool redo_in_float32(Window& window, std::span<float> values);
  bool batch_done(const PackedBatch& batch);
  void check_origin(const ChunkStore& store) const;
  Error in_window(const Error& error, const Window& window) const;

  const WorkerContext& context_;
  const int64_t number_;
  const JobUnit& unit_;
  LoadedModel& model_;
  const BatchPlan plan_;
  const ChunkOrigin origin_;

  RowStats stats_;
  StageSeconds seconds_;
  int64_t rows_ = 0;
  int64_t tokens_ = 0;
  int64_t slots_ = 0;
};

}  // namespace encode
