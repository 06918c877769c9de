// `encode slurm`: submits what is left to do of an experiment to Slurm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"

#include "run_record/terminal.h"

namespace encode {

struct SlurmRequest {
  int64_t shards = 0;   // 0: as many as the plan in the cache directory
  int64_t at_once = 0;  // how many shards run at a time; 0: no limit
  // Options of sbatch. The plan and the merge need no GPU: if `cpu_options` is not empty, they get
  // these and the shards get `options`. Otherwise all jobs get `options`, because a partition may
  // refuse a job that lacks some of them, such as --account or --gres.
  std::vector<std::string> options = {};
  std::vector<std::string> cpu_options = {};
  std::vector<std::string> flags = {};        // of the experiment, for the commands of the jobs
  std::vector<std::string> plan_flags = {};   // further ones of encode shards plan
  std::vector<std::string> merge_flags = {};  // further ones of encode merge
  bool dry_run = false;                       // prints the jobs, writes nothing and submits nothing
};

// Submits a job that plans the shards, arrays that encode those without a part, and a job that
// merges them; each only if it has something to do. Prints a line for each job.
//
// The numbers of the jobs are written to slurm.json in the cache directory. If jobs of an earlier
// call have not ended, nothing is submitted. If this process is killed between a submission and the
// writing of its number, the next call may submit the same shards once more: this wastes time, but
// does no harm, because any number of attempts at a shard may run. If a submission fails, the jobs
// of this call are cancelled.
//
// Throws Error: kUsage "usage" for options of sbatch that this function needs itself; kTempFail
// "slurm.queued" if jobs of an earlier call have not ended; kConfig "shards.config" and
// "shards.foreign" as plan_shards() does; and what the functions of slurm_programs.h throw.
void submit_to_slurm(const RunConfig& config, const SlurmRequest& request, Terminal& err,
                     Terminal& out);

}  // namespace encode
