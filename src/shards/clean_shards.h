// `encode shards clean`: deletes the attempts that the experiment does not need any more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"

#include "run_record/run_log.h"

namespace encode {

struct CleanOptions {
  bool dry_run = false;  // true: only says what would be deleted
  // An attempt that may be at work on another machine is kept until nothing in its folder has been
  // changed for this time.
  int64_t older_than_seconds = 24 * 60 * 60;
  bool age_given = false;  // true: the user has named `older_than_seconds`
};

struct KeptPath {
  std::string path;
  std::string why;  // one phrase
};

struct CleanReport {
  std::vector<std::string> deleted;  // the folders, in order; and those that would be
  std::vector<KeptPath> kept;        // what may be of use, or is not from encode
  int64_t freed_bytes = 0;
};

// Deletes attempts:
// - at a shard that has a part: all attempts but the one that part.json names. That one loses only
//   chunks that an interruption has left;
// - at a shard that has no part: those that have no chunk and no matrix of the rows of the plan,
//   because the next attempt goes on with the others;
// - at a shard that the plan does not have: all, and then the folder of the shard.
// With an output, an attempt's folder in <output>/.parts goes with it.
//
// An attempt at work is kept. Its lock shows it; on a machine whose locks are not seen here, its
// age does. So where the file system has no locks, the user must name the age. An attempt that is
// deleted while it works loses its work; no result depends on it. The matrices of a part are never
// deleted, before and after a merge. Deletes only files whose names a run gives, below folders
// whose names a plan gives, and follows no links. Throws Error: kTempFail "store.locked" if a plan
// or a merge is using the directory, what read_shard_plan() and require_plan_of() throw, kIoError
// and kNoPermission; kIoError "store.lock" without locks and without an age.
CleanReport clean_shards(const RunConfig& config, const CleanOptions& options);

// Writes what was deleted and kept as results of the command. Throws no Error.
void log_cleaning(const CleanReport& report, const CleanOptions& options, RunLog& log);

}  // namespace encode
