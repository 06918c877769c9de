// An experiment that is encoded in shards, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

#include "encode/error.h"

#include "run_record/terminal.h"
#include "shards/plan_shards.h"
#include "store/parts_list.h"
#include "supervisor/experiment.h"

namespace encode::testing {

// The matrices of the experiment: two streams, and both side by side.
inline const std::vector<std::string> kNames = {"train_tc", "train_commit", "train_combined"};

// An experiment of 17 rows in two streams, and the calls of the commands for its shards. A call
// returns the error of the command; without a code if there was none.
class Sharded : public Experiment {
 public:
  Sharded();

  ErrorDetail plan(int64_t shards, const std::string& gpu = "");
  // `error`, if it is not null, gets the error of the command; else there must be none.
  ExtendedPlan extend(ErrorDetail* error = nullptr);
  // `misdeed` is as for Experiment::run().
  ErrorDetail run_shard(int64_t shard, const std::string& misdeed = "");
  void encode(int64_t shards);            // plans and runs all shards
  void damage_part(int64_t shard) const;  // changes a bit of the matrix of its first attempt
  ErrorDetail merge();
  ErrorDetail join();
  // Starts an attempt in a process of its own, whose worker takes `slow_ms` for a batch.
  pid_t start(int64_t shard, int slow_ms);

  // Returns the bytes of the rows of the merged matrices, in the order of kNames.
  std::vector<std::string> merged() const;
  PartsList list(const std::string& name) const;
  std::vector<std::string> attempts(int64_t shard) const;  // the paths of their folders
  // Returns the number of chunks that the workers of all attempts have encoded.
  int64_t encoded_chunks() const;
};

// Returns the bytes of the rows of one run without shards, in the order of kNames.
const std::vector<std::string>& undivided();

// Returns the exit code of `encode verify` for a list of parts.
ExitCode verified(const std::string& list);

}  // namespace encode::testing
