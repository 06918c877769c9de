// The programs of Slurm that encode calls: sbatch, scontrol, squeue and scancel. They are looked
// for in PATH. Any thread may call these functions. All of them throw Error kUnavailable
// "slurm.absent" if the program is not there, and kUnavailable "slurm.failed" if it ends with
// another code than 0 or if its answer is not one that encode knows. The error quotes what the
// program wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace encode {

// A job in the queue. With sbatch --clusters a job is in the queue of another cluster.
struct SlurmJobId {
  std::string number = {};   // "1234", also of an array
  std::string cluster = {};  // "": the cluster of this machine

  bool operator==(const SlurmJobId&) const = default;
};

// The largest array of a cluster that does not say another one: Slurm's default.
inline constexpr int64_t kUsualMaxArraySize = 1001;

// Returns MaxArraySize of slurm.conf: the indices of an array go from 0 to this number minus 1.
int64_t slurm_max_array_size();

// Submits a script. `options` are what follows sbatch --parsable.
SlurmJobId submit_slurm_job(const std::vector<std::string>& options, const std::string& script);

// Returns what squeue says about those of the jobs that have not ended, such as "1234 RUNNING" or
// "1235 PENDING (Dependency)", each text once. Jobs that Slurm has forgotten have ended.
std::vector<std::string> queued_slurm_jobs(const std::vector<SlurmJobId>& jobs);

void cancel_slurm_jobs(const std::vector<SlurmJobId>& jobs);

// Returns true if the text consists of digits only.
bool is_slurm_number(const std::string& text);

}  // namespace encode
