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

// What squeue says about a job, or about some tasks of an array.
struct QueuedSlurmJob {
  SlurmJobId id;
  std::string state = {};  // "RUNNING", or with a reason "PENDING (Dependency)"

  // The job waits for one that has failed. Slurm removes such a job only if the cluster is set so,
  // or if the job asks for it; some versions keep it all the same.
  bool waits_in_vain() const { return state == "PENDING (DependencyNeverSatisfied)"; }
  // Slurm holds a task that a broken node could not start, until someone releases it. The reasons
  // are "launch failed requeued held", "JobHeldUser" and so on.
  bool is_held() const { return state.find("eld") != std::string::npos; }
  bool operator==(const QueuedSlurmJob&) const = default;
};

// Returns those of the jobs that have not ended, each state of a job once. Jobs that Slurm has
// forgotten have ended.
std::vector<QueuedSlurmJob> queued_slurm_jobs(const std::vector<SlurmJobId>& jobs);

void cancel_slurm_jobs(const std::vector<SlurmJobId>& jobs);

// Removes the variables from the environment of this process that would change what the programs of
// Slurm do, or what the jobs do: those of a job in which this process runs, such as
// SLURM_RESTART_COUNT, and a few settings of sbatch and squeue. To be called while no other thread
// runs.
void forget_slurm_variables();

// Returns true if the text consists of digits only.
bool is_slurm_number(const std::string& text);

}  // namespace encode
