// The main loop of the worker: it takes windows, encodes their rows and has them committed.
#pragma once

#include <cstdint>
#include <span>

#include "encode/batch_plan.h"
#include "encode/stage_seconds.h"

#include "job/commit_thread.h"
#include "job/loaded_model.h"
#include "job/window_producer.h"
#include "job/worker_context.h"

namespace encode {

// Encodes one unit of the job. Must be used once, on one thread.
class UnitRun {
 public:
  // `unit` is an index into JobSpec::units, and `model` is its model. Both references must outlive
  // the UnitRun.
  UnitRun(const WorkerContext& context, int64_t unit, LoadedModel& model);

  // Returns false if the worker was asked to stop. Committed chunks are kept then, and unfinished
  // chunks are dropped. Throws Error and c10::Error.
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
