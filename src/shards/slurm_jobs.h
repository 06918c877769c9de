// The jobs with which Slurm plans, encodes and merges shards: their scripts and their options of
// sbatch. Any thread may call these functions. They throw no Error and call no program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace encode {

// What all jobs of an experiment have in common.
struct SlurmExperiment {
  std::string program;             // the path of encode
  std::vector<std::string> flags;  // the flags of the experiment, such as "--config=run.yaml"
  std::vector<std::string> plan_flags = {};   // further ones of encode shards plan
  std::vector<std::string> merge_flags = {};  // further ones of encode merge
  std::string directory;  // where the command was started; relative paths begin there
  std::string cache_dir;  // as the config has it
  // Environment variables that the scripts set, because a cluster may not hand them on to jobs:
  // "NAME=value".
  std::vector<std::string> variables = {};
  int64_t shards = 0;                         // of the whole plan
  int64_t at_once = 0;                        // how many shards run at a time; 0: no limit
  int64_t max_array_size = 0;                 // of the cluster
  std::vector<std::string> options = {};      // of sbatch, from the user
  std::vector<std::string> cpu_options = {};  // those of the plan and the merge
};

// What is left to do.
struct SlurmWork {
  bool plan = false;
  std::vector<int64_t> shards = {};  // that have no part, ascending
  bool merge = false;

  bool none() const { return !plan && shards.empty() && !merge; }
};

enum class SlurmJobKind { kPlan, kShards, kMerge };

struct SlurmJob {
  // This job waits for another one, which has a smaller index in the list.
  struct Wait {
    std::string type;  // "afterok" or "afterany"
    size_t job = 0;
  };

  SlurmJobKind kind = SlurmJobKind::kPlan;
  std::string title = {};   // for messages: "32 shards, 8 at once"
  std::string array = {};   // the value of --array: "0-3,7%8"; "" for a job without tasks
  std::string script = {};  // of bash
  std::vector<std::string> options = {};
  std::vector<Wait> waits = {};
};

// Returns the jobs in the order in which they are submitted. The shards are one array, or several
// if the cluster has a smaller MaxArraySize: the tasks of the second array have the shards from
// MaxArraySize on, and so on. With a limit of shards at a time each array waits for the one before
// it, because Slurm counts the running tasks of each array alone. If a shard fails, the merge is
// removed from the queue.
std::vector<SlurmJob> slurm_jobs(const SlurmExperiment& experiment, const SlurmWork& work);

// Returns what follows sbatch --parsable. `ids` has the numbers of the earlier jobs of the list.
std::vector<std::string> sbatch_options(const SlurmExperiment& experiment, const SlurmJob& job,
                                        const std::vector<std::string>& ids);

// The folder of the output of the jobs, and of what the scripts remember between two starts.
std::string slurm_folder(const std::string& cache_dir);

}  // namespace encode
