// Chooses the number of rows in a chunk for `chunk_size: auto`, and says what a kill costs.
#pragma once

#include <optional>
#include <string>

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

  // Sets `chunk_rows` and `chunk_reason` of a stream, whose plan has everything else, if the config
  // says `auto`. Writes and deletes a small file in the cache directory for that; throws Error
  // kIoError, kCantCreate or kNoPermission if it cannot.
  void choose(const ModelDirectory& directory, StreamPlan& stream);
  // Does the same for the chunks of a shard with `rows` rows of the stream, whatever the config
  // says.
  void choose_for_shard(const ModelDirectory& directory, int64_t rows, StreamPlan& stream);

 private:
  double commit_seconds();

  const RunConfig& config_;
  RunGpu& gpu_;
  std::optional<double> commit_seconds_;
};

// Returns how much work is lost at most if the run is killed: "a kill loses at most 100 rows, about
// 3.20 s of work on 2 CPU threads". The time follows from an assumed speed. StreamPlan::scan and
// `chunk_rows` must be set; estimated numbers are enough.
std::string describe_loss(const StreamPlan& stream, const ModelDirectory& directory, RunGpu& gpu);

}  // namespace encode
