// Encodes the windows of a unit in stages: the embedding cache, the device, float32 for values that
// are not finite, the check of the vectors, equal sequences.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "encode/batch_plan.h"

#include "job/batch_loop.h"
#include "job/cache_session.h"
#include "job/loaded_model.h"
#include "job/vector_check.h"
#include "job/window_producer.h"
#include "job/window_result.h"
#include "job/worker_context.h"

namespace encode {

// - A sequence is not encoded if the embedding cache has its vectors, or if it is equal to another
// one of
//   its window.
// - A row is set aside if BatchLoop refuses a sequence of it, or if a vector of it is not finite or
//   has a wrong norm. Then the rows with an equal sequence are also set aside. The other rows are
//   encoded.
// Not thread-safe.
class WindowEncoder {
 public:
  // All references must outlive the WindowEncoder. `unit` is an index into JobSpec::units.
  WindowEncoder(const WorkerContext& context, int64_t unit, LoadedModel& model,
                CacheSession& cache);

  struct Progress {
    // Called after each batch that encodes sequences for the first time. Returns false to stop.
    // Sequences that need no batch are counted in WindowVectors::reused.
    std::function<bool(const PackedBatch&)> batch_done;
    // Called after each batch that encodes sequences again, in float32. Returns false to stop.
    std::function<bool()> go_on;
    // Encoder::NextBatches of the next window; may be empty.
    Encoder::NextBatches next = {};
  };

  // Encodes the rows of a window. Sends RowsSetAside for the rows that it sets aside. `memory` is
  // used for the vectors if its size fits: a large vector that is used again has no page faults.
  // Returns nullopt if `progress` asked to stop. Throws:
  // - what BatchLoop::run() throws,
  // - Error kData "vectors.all_bad" if a window has several rows and none of them has a good
  //   vector, because then the model is broken and not the rows.
  std::optional<WindowVectors> encode(Window window, const Progress& progress,
                                      std::vector<float> memory = {});

  // Returns the plan, with the budget that the device has memory for.
  const BatchPlan& plan() const { return loop_.plan(); }

 private:
  std::optional<std::set<int64_t>> redo_in_float32(const Window& window,
                                                   std::span<const PackedSequence> sequences,
                                                   WindowValues& values, const Progress& progress);
  void require_a_good_row(const CheckedSequences& checked, const CacheHits& hits,
                          const Window& window) const;
  void tell_set_aside(std::span<const SetAsideRow> rows) const;

  const WorkerContext& context_;
  const int64_t number_;
  const JobUnit& unit_;
  LoadedModel& model_;
  CacheSession& cache_;
  const VectorRules rules_;
  BatchLoop loop_;
};

}  // namespace encode
