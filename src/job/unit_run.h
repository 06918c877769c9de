// The main loop of the worker: it takes windows, encodes their rows and has them committed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "encode/stage_seconds.h"

#include "job/cache_session.h"
#include "job/commit_thread.h"
#include "job/host_budget.h"
#include "job/loaded_model.h"
#include "job/release_rule.h"
#include "job/retirement.h"
#include "job/window_encoder.h"
#include "job/window_producer.h"
#include "job/worker_context.h"

namespace encode {

// Encodes one unit of the job. Must be used once, on one thread.
class UnitRun {
 public:
  // `unit` is an index into JobSpec::units, and `model` is its model. All references must outlive
  // the UnitRun.
  UnitRun(const WorkerContext& context, int64_t unit, LoadedModel& model, CacheSession& cache);

  enum class End {
    kDone,
    kStopped,  // the worker was asked to stop; unfinished chunks are dropped
    kRetired,  // rows are left, which a new worker will encode
  };
  // Encodes the rows of the unit that are not committed, until none is left, the worker is asked to
  // stop, or `retirement` is due. Committed chunks stay, also after a throw. Throws Error and
  // c10::Error.
  End run(Retirement& retirement);
  // Returns the time that run() has taken so far.
  const StageSeconds& stages() const { return seconds_; }

 private:
  bool probe();
  End encode(std::unique_ptr<RowSink> sink, TaskQueue tasks, Retirement& retirement);
  End finish() const;
  End encode_all(WindowProducer& producer, CommitThread& committer, Retirement& retirement);
  TokenizePlan tokenize_plan() const;
  std::span<const PackedBatch> begin_next(WindowProducer& producer, RowRange rows);
  void begin(const Window& window, double awaited);
  void count_reused(const ReusedSequences& reused);
  int64_t count_parts(std::span<const WindowPart> parts);
  EncodedWindow encoded_window(WindowVectors vectors);
  std::vector<float> commit(EncodedWindow window, CommitThread& committer, Stopwatch& watch);
  void release_memory(bool last);
  void tell_start(const Window& window);
  void tell_reuse();
  void count_sequences(int64_t sequences);
  bool batch_done(const PackedBatch& batch);
  bool pressed() const;
  bool go_on();
  KeyRules key_rules(const TokenizePlan& plan) const;
  void check_origin(const ChunkStore& store) const;

  const WorkerContext& context_;
  const int64_t number_;
  const JobUnit& unit_;
  LoadedModel& model_;
  CacheSession& cache_;
  WindowEncoder encoder_;
  const ChunkOrigin origin_;
  const HostBudget budget_;
  ReleaseRule release_rule_;

  RowStats stats_;
  StageSeconds seconds_;
  int64_t rows_ = 0;
  // The rows of the window that is being encoded, if they are cut into passages.
  struct WindowRows {
    int64_t first = 0;  // rows_ when the window began
    int64_t rows = 0;
    int64_t sequences = 0;
    int64_t done = 0;  // the sequences that are encoded
  };
  WindowRows window_rows_;
  int64_t tokens_ = 0;
  int64_t slots_ = 0;
  int64_t deduplicated_rows_ = 0;  // since the last tell_reuse()
};

}  // namespace encode
