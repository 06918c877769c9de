#include "shards/slurm.h"

#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/environment.h"
#include "base/file.h"
#include "base/shell_quote.h"
#include "base/units.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_log.h"
#include "shards/join_shards.h"
#include "shards/merge.h"
#include "shards/part.h"
#include "shards/plan_shards.h"
#include "shards/slurm_jobs.h"
#include "shards/slurm_programs.h"
#include "shards/slurm_record.h"
#include "shards/work_lock.h"

namespace encode {
namespace {

// Options of sbatch that encode slurm sets itself, or with which sbatch does not do what it needs.
constexpr auto kOwnOptions = std::to_array<std::string_view>(
    {"--array", "-a", "--chdir", "-D", "--dependency", "-d", "--kill-on-invalid-dep", "--parsable",
     "--wrap", "--wait", "-W", "--test-only", "--help", "-h", "--usage", "--version", "-V"});

// What encode needs of the environment. A cluster may start jobs without it (SBATCH_EXPORT=NONE).
constexpr auto kVariables =
    std::to_array<const char*>({"TORCH_ROOT", "ARROW_ROOT", "ENCODE_WORKER"});

[[noreturn]] void refuse_usage(std::string what, std::string expected, std::string found,
                               std::string hint) {
  throw Error({.code = "usage",
               .what = std::move(what),
               .where = "command line",
               .expected = std::move(expected),
               .found = std::move(found),
               .hint = std::move(hint)});
}

// Returns true if sbatch takes the word for this option: "--array=0-3", "--arr=0-3" or "-a0-3".
bool names(const std::string& word, std::string_view option) {
  if (!option.starts_with("--")) return word.starts_with(option);
  constexpr size_t kShortest = 4;  // a shorter beginning stands for several options
  const std::string name = word.substr(0, word.find('='));
  return name.size() >= kShortest && option.starts_with(name);
}

void check_options(const std::vector<std::string>& options) {
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string& word = options[i];
    for (const std::string_view own : kOwnOptions) {
      if (!names(word, own)) continue;
      refuse_usage(fmt::format("{} cannot be given to sbatch", own), "another option of sbatch",
                   fmt::format("'{}'", preview(word)),
                   "encode slurm sets such options itself; --shards, --at-once and --dry-run say "
                   "what it submits");
    }
    // A word that is no value would be the script for sbatch.
    const bool after_option =
        i > 0 && options[i - 1].starts_with('-') && options[i - 1].find('=') == std::string::npos;
    if (word.starts_with('-') || after_option) continue;
    refuse_usage("what follows -- are options of sbatch", "an option, such as --partition=gpu",
                 fmt::format("'{}'", preview(word)),
                 "encode slurm writes the script itself; see encode slurm --help");
  }
}

bool has_plan(const RunConfig& config) {
  return entry_exists(ShardFiles(config.store.cache_dir).plan(), "shards.missing");
}

// Cancels jobs of an earlier call that wait in vain. Throws if other ones are in the queue.
void require_none_queued(const std::string& cache_dir) {
  const std::vector<SlurmJobId> earlier = read_slurm_record(cache_dir);
  std::vector<SlurmJobId> in_vain;
  std::vector<std::string> release = {"scontrol", "release"};
  std::vector<std::string> named;
  for (const QueuedSlurmJob& job : queued_slurm_jobs(earlier)) {
    if (job.waits_in_vain()) in_vain.push_back(job.id);
    if (job.is_held()) release.push_back(job.id.number);
    named.push_back(fmt::format("{} {}", job.id.number, job.state));
  }
  if (named.size() == in_vain.size()) {
    cancel_slurm_jobs(in_vain);
    return;
  }
  constexpr size_t kMostNamed = 20;
  if (named.size() > kMostNamed) {
    named.resize(kMostNamed);
    named.emplace_back("...");
  }
  std::string hint = "wait until they have ended";
  if (release.size() > 2) hint += ", let those go on that are held: " + shell_command(release);
  std::vector<std::string> cancel = {"scancel"};
  for (const SlurmJobId& job : earlier) cancel.push_back(job.number);
  throw Error({.code = "slurm.queued",
               .what = "jobs of an earlier call have not ended",
               .where = slurm_record_path(cache_dir),
               .expected = "no job in the queue",
               .found = fmt::format("{}", fmt::join(named, ", ")),
               .hint = hint + ", or cancel them: " + shell_command(cancel)});
}

// Throws if it is certain that the jobs would fail.
void check_request(const RunConfig& config, const SlurmRequest& request) {
  check_options(request.options);
  check_options(request.cpu_options);
  require_divisible(config);
  if (request.shards > 0 || has_plan(config)) return;
  if (!request.dry_run) require_none_queued(config.store.cache_dir);  // one of them plans
  refuse_usage("the number of shards is not known", "--shards N, or a plan of the shards",
               fmt::format("neither, and no plan in {}", config.store.cache_dir),
               "add --shards, as in --shards 64");
}

// Sets `shards` to the number of shards.
SlurmWork work_of(const RunConfig& config, const SlurmRequest& request, int64_t& shards) {
  shards = request.shards;
  SlurmWork work;
  if (!has_plan(config)) {
    for (int64_t shard = 0; shard < shards; ++shard) work.shards.push_back(shard);
    work.plan = work.merge = true;
    return work;
  }
  const ShardPlan plan = read_shard_plan(config.store.cache_dir);
  require_plan_of(config, plan);
  if (shards != 0 && shards != plan.shards)
    throw Error({.code = "shards.foreign",
                 .what = "the cache directory has a plan with another number of shards",
                 .where = ShardFiles(config.store.cache_dir).plan(),
                 .expected = format_count(shards, "shard", "shards"),
                 .found = format_count(plan.shards, "shard", "shards"),
                 .hint = fmt::format("give --shards {}, or another --cache-dir", plan.shards)});
  shards = plan.shards;
  for (int64_t shard = 0; shard < shards; ++shard) {
    if (!find_part(config, plan, shard)) work.shards.push_back(shard);
  }
  const auto is_done = config.store.parts == OutputParts::kOne ? is_joined : is_merged;
  work.merge = !work.shards.empty() || !is_done(config);
  return work;
}

SlurmExperiment experiment_of(const RunConfig& config, const SlurmRequest& request,
                              int64_t shards) {
  std::error_code failure;
  SlurmExperiment experiment = {.program = program_path(),
                                .flags = request.flags,
                                .plan_flags = request.plan_flags,
                                .merge_flags = request.merge_flags,
                                .directory = std::filesystem::current_path(failure).string(),
                                .cache_dir = config.store.cache_dir,
                                .shards = shards,
                                .at_once = request.at_once,
                                .max_array_size = kUsualMaxArraySize,
                                .options = request.options,
                                .cpu_options = request.cpu_options};
  if (failure) throw system_error("io.read", "find", "the current directory", failure.value());
  for (const char* name : kVariables) {
    const std::string value = environment_variable(name);
    if (!value.empty()) experiment.variables.push_back(fmt::format("{}={}", name, value));
  }
  return experiment;
}

// Keeps two calls from submitting the same shards, where the file system has locks.
std::unique_ptr<const CacheLock> lock_submission(const std::string& folder) {
  return lock_work(folder, [](ErrorDetail& detail) {
    detail.what = "another call of encode slurm is submitting jobs of this experiment";
    detail.hint = "wait until it has ended, and run the same command again";
  });
}

class Submission {
 public:
  Submission(const SlurmExperiment& experiment, RunLog& log) : experiment_(experiment), log_(log) {}

  void submit(const SlurmJob& job) {
    std::vector<std::string> options = sbatch_options(experiment_, job, numbers_);
    // The jobs wait for each other, so all of them go to the cluster of the first one.
    if (!jobs_.empty() && !jobs_.front().cluster.empty())
      options.push_back("--clusters=" + jobs_.front().cluster);
    try {
      jobs_.push_back(submit_slurm_job(options, job.script));
      numbers_.push_back(jobs_.back().number);
      write_slurm_record(experiment_.cache_dir, jobs_);
    } catch (const Error& error) {
      give_up(error);
    }
    log_.result("slurm_job", fmt::format("job {}: {}\n", numbers_.back(), job.title),
                {{"job", numbers_.back()},
                 {"cluster", jobs_.back().cluster},
                 {"title", job.title},
                 {"array", job.array}});
  }

  // Says what follows.
  void finish() const {
    log_.result(
        "slurm_submitted",
        fmt::format("The jobs write to {}; squeue --jobs={} shows them.\n"
                    "When they have ended, the same command submits what is missing, if anything "
                    "is.\n",
                    slurm_folder(experiment_.cache_dir), fmt::join(numbers_, ",")),
        {{"jobs", numbers_}, {"folder", slurm_folder(experiment_.cache_dir)}});
  }

 private:
  [[noreturn]] void give_up(const Error& error) {
    ErrorDetail detail = error.detail();
    if (jobs_.empty()) throw Error(std::move(detail));
    const std::string cancelled = fmt::format("{}", fmt::join(numbers_, ", "));
    try {
      cancel_slurm_jobs(jobs_);
      write_slurm_record(experiment_.cache_dir, {});
      detail.hint += fmt::format("; this call has cancelled its jobs {}", cancelled);
    } catch (const Error& second) {
      detail.hint += fmt::format(
          "; the jobs {} of this call are in the queue, because they could "
          "not be cancelled: {}, {}",
          cancelled, second.detail().what, second.detail().found);
    }
    throw Error(std::move(detail));
  }

  const SlurmExperiment& experiment_;
  RunLog& log_;
  std::vector<SlurmJobId> jobs_;
  std::vector<std::string> numbers_;
};

// Prints the calls of sbatch as a person would type them. Names stand for the numbers of the jobs.
void print_jobs(const SlurmExperiment& experiment, const std::vector<SlurmJob>& jobs, RunLog& log) {
  std::vector<std::string> ids;
  for (const SlurmJob& job : jobs) {
    std::vector<std::string> words = {"sbatch", "--parsable"};
    for (std::string& option : sbatch_options(experiment, job, ids))
      words.push_back(std::move(option));
    ids.push_back(fmt::format("JOB_{}", ids.size() + 1));
    const std::string command = shell_command(words);
    log.result(
        "slurm_dry_run",
        fmt::format("# {}: {}\n{} <<'END'\n{}END\n\n", ids.back(), job.title, command, job.script),
        {{"job", ids.back()}, {"title", job.title}, {"command", words}, {"script", job.script}});
  }
}

}  // namespace

void submit_to_slurm(const RunConfig& config, const SlurmRequest& request, Terminal& err,
                     Terminal& out) {
  forget_slurm_variables();
  check_request(config, request);
  RunLog log(config.log, err, out);
  const std::string& cache_dir = config.store.cache_dir;
  const std::unique_ptr<const CacheLock> lock =
      request.dry_run ? nullptr : lock_submission(slurm_folder(cache_dir));
  // Before the look at the parts: a job that ends in between has published its part.
  if (!request.dry_run) require_none_queued(cache_dir);
  int64_t shards = 0;
  const SlurmWork work = work_of(config, request, shards);
  if (work.none()) {
    log.result("slurm_done",
               fmt::format("{} encoded and merged: there is nothing to submit\n",
                           format_count(shards, "shard is", "shards are")),
               {{"shards", shards}});
    return;
  }
  SlurmExperiment experiment = experiment_of(config, request, shards);
  if (request.dry_run) {
    print_jobs(experiment, slurm_jobs(experiment, work), log);
    return;
  }
  experiment.max_array_size = slurm_max_array_size();
  Submission submission(experiment, log);
  for (const SlurmJob& job : slurm_jobs(experiment, work)) submission.submit(job);
  submission.finish();
}

}  // namespace encode
