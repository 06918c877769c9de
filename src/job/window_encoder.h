// Encodes the windows of a unit, and survives what one row or one batch does to the device.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "encode/batch_plan.h"

#include "job/failure.h"
#include "job/loaded_model.h"
#include "job/row_reuse.h"
#include "job/window_producer.h"
#include "job/worker_context.h"

namespace encode {

// - If the device has too little memory for a batch, it halves the budget of all later batches and
//   goes on. The budget never grows again, and it never changes a vector.
// - A row is not encoded if the embedding cache has its vector, or if it is equal to another row of
//   its window.
// - A row that does not fit on the device even alone, a row that the encoder refuses, and a row
//   whose vector is not finite or has a wrong norm are set aside, with all equal rows of the
//   window. Everything else is encoded.
// Not thread-safe.
class WindowEncoder {
 public:
  // All references must outlive the WindowEncoder. `unit` is an index into JobSpec::units.
  WindowEncoder(const WorkerContext& context, int64_t unit, LoadedModel& model,
                CacheSession& cache);

  // Both functions return false to stop.
  struct Progress {
    // Called after each batch, once for each row. Rows that need no batch are in Window::reused.
    std::function<bool(const PackedBatch&)> batch_done;
    // Called after each batch of rows that batch_done() has got before.
    std::function<bool()> go_on;
  };

  // Encodes the rows of a window into `values`, which has a vector for each row (or each token, see
  // Encoder::encode()). Counts rows that were computed again in the window's parts, and removes the
  // rows that it sets aside from the counts and lists them there. With token embeddings it also
  // removes their vectors from `values`. Returns false if `progress` asked to stop. Throws:
  // - Error kUnavailable "device.memory" if no row fits on the device,
  // - Error kTempFail for an NVML failure that comes again,
  // - Error kData "vectors.all_bad" if no row of a window has a good vector, because the model is
  //   broken then and not the rows,
  // - what Encoder::encode() throws if the device is lost.
  bool encode(Window& window, std::vector<float>& values, const Progress& progress);

  // With the budget that the device has memory for.
  const BatchPlan& plan() const { return plan_; }

 private:
  struct Attempt;
  bool encode_rows(Attempt& attempt, const Progress& progress);
  void recover(Attempt& attempt, const Failure& failure);
  void smaller_batches(Attempt& attempt, const ErrorDetail& error);
  void skip_row(Attempt& attempt, const ErrorDetail& error);
  bool redo_in_float32(Attempt& attempt, const Progress& progress);
  void check_vectors(Attempt& attempt) const;
  void set_aside(Window& window, std::vector<float>& values, std::vector<SetAsideRow> rows) const;

  const WorkerContext& context_;
  const int64_t number_;
  const JobUnit& unit_;
  LoadedModel& model_;
  RowReuse reuse_;
  BatchPlan plan_;
  const int64_t first_budget_;
  bool nvml_failed_ = false;
  bool tried_again_ = false;    // a batch that did not fit, since the last batch that was encoded
  int64_t rows_too_large_ = 0;  // set aside for lack of memory since a row was encoded
};

}  // namespace encode
