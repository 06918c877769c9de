// Chooses the number of rows in a chunk for `chunk_size: auto`.
#pragma once

#include <optional>

#include "encode/config.h"
#include "encode/model_directory.h"

#include "run_plan/fit_check.h"
#include "run_plan/plan.h"

namespace encode {

// Chooses the size for each stream of a run, and measures the disk at most once.
class ChunkSizes {
 public:
  // Both must outlive the object.
  ChunkSizes(const RunConfig& config, RunGpu& gpu) : config_(config), gpu_(gpu) {}

  // Sets `chunk_rows` and `chunk_reason` of a stream that is planned so far. Without `auto` the
  // number comes from the config. With `auto` it writes and deletes a small file in the cache
  // directory; throws Error kIoError, kCantCreate or kNoPermission if it cannot.
  void choose(const ModelDirectory& directory, StreamPlan& stream);

 private:
  double commit_seconds();

  const RunConfig& config_;
  RunGpu& gpu_;
  std::optional<double> commit_seconds_;
};

}  // namespace encode
