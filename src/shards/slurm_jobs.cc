#include "shards/slurm_jobs.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "base/shell_quote.h"
#include "base/units.h"
#include "run_plan/shard_plan.h"
#include "shards/shard_words.h"
#include "store/layout.h"

namespace encode {
namespace {

// The list of indices is one argument of sbatch, and Linux limits an argument to 128 KiB.
constexpr int64_t kMostTasks = 10'000;

// A task that has been started so many times in a row without a new chunk is not started again.
constexpr int kFruitlessStarts = 10;

std::string quoted(const std::string& word) { return shell_command({word}); }

// Returns the command of a job. `more` are the words that follow the flags.
std::string command_of(const SlurmExperiment& experiment, const std::vector<std::string>& command) {
  std::vector<std::string> words = {experiment.program};
  words.insert(words.end(), command.begin(), command.end());
  words.insert(words.end(), experiment.flags.begin(), experiment.flags.end());
  return shell_command(words);
}

std::vector<std::string> joined(std::vector<std::string> words,
                                const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string head(const SlurmExperiment& experiment) {
  std::string text = fmt::format(
      "#!/bin/bash\n"
      "# encode slurm has made this script; docs/howto/slurm.md describes it.\n"
      "cd -- {} || exit 66\n",
      quoted(experiment.directory));
  for (const std::string& variable : experiment.variables) {
    const size_t equals = variable.find('=');
    text += fmt::format("export {}={}\n", variable.substr(0, equals),
                        quoted(variable.substr(equals + 1)));
  }
  return text;
}

// Returns the end of every script. The script has set `code`, `task` (what Slurm requeues), `notes`
// (the file that counts fruitless starts) and `chunks` (how many chunks the shard has).
std::string tail() {
  return fmt::format(
      "echo \"encode ended with exit code $code\"\n"
      "trap '' TERM # Slurm signals a task that it requeues\n"
      "if ((code == 75 || code == 137)); then\n"
      "  before=0 starts=0\n"
      "  if ((${{SLURM_RESTART_COUNT:-0}} > 0)) && [[ -r $notes ]]; then\n"
      "    read -r before starts <\"$notes\"\n"
      "  fi\n"
      "  if ((chunks > before)); then starts=0; fi\n"
      "  starts=$((starts + 1))\n"
      "  if ((starts < {0})); then\n"
      "    echo \"$chunks $starts\" >\"$notes\"\n"
      "    echo \"requeue $task\"\n"
      "    scontrol requeue \"$task\"\n"
      "  else\n"
      "    echo \"not requeued: {0} starts in a row have brought no new chunk\"\n"
      "  fi\n"
      "fi\n"
      "exit \"$code\"\n",
      kFruitlessStarts);
}

std::string notes_of(const SlurmExperiment& experiment, const std::string& name) {
  return quoted(join_path(slurm_folder(experiment.cache_dir), "starts-" + name));
}

std::string script_of_job(const SlurmExperiment& experiment, const std::string& name,
                          const std::vector<std::string>& command) {
  return head(experiment) + command_of(experiment, command) +
         fmt::format(
             "\n"
             "code=$?\n"
             "task=$SLURM_JOB_ID\n"
             "notes={}\n"
             "chunks=0\n",
             notes_of(experiment, name)) +
         tail();
}

// bash runs a trap only between two commands, so the run is in the background. A signal ends the
// command `wait`, and the run still finishes its batch.
std::string script_of_shards(const SlurmExperiment& experiment, int64_t offset) {
  const std::string number =
      offset == 0 ? "$SLURM_ARRAY_TASK_ID" : fmt::format("$((SLURM_ARRAY_TASK_ID + {}))", offset);
  const std::string shards = join_path(experiment.cache_dir, "shards");
  return head(experiment) +
         fmt::format(
             "shard={}\n"
             "echo \"shard $shard on $(hostname), restarts: ${{SLURM_RESTART_COUNT:-0}}\"\n"
             "{} --shard \"$shard/{}\" &\n"
             "run=$!\n"
             "trap 'stopped=1; kill -USR1 \"$run\"' TERM\n"
             "stopped=1\n"
             "while ((stopped)); do\n"
             "  stopped=0\n"
             "  wait \"$run\"\n"
             "  code=$?\n"
             "done\n"
             "# In an array, SLURM_JOB_ID of the last task is the id of the whole array.\n"
             "task=${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID\n"
             "notes={}$shard\n"
             "folder={}/$(printf %05d \"$shard\")\n"
             "chunks=$(printf '%s\\n' \"$folder\"/attempt-*/*{}/chunk_*.npy |\n"
             "  sed 's|.*/\\([^/]*/[^/]*\\)$|\\1|' | sort -u | wc -l)\n",
             number, command_of(experiment, {"run"}), experiment.shards,
             notes_of(experiment, "shard-"), quoted(shards), kChunksSuffix) +
         tail();
}

// In a path of --output, % begins a pattern.
std::string output_path(const SlurmExperiment& experiment, const std::string& name) {
  std::string path = slurm_folder(experiment.cache_dir) + "/";
  for (size_t at = 0; (at = path.find('%', at)) != std::string::npos; at += 2) path.insert(at, "%");
  return path + name;
}

// Divides ascending shards into arrays.
std::vector<std::vector<int64_t>> arrays_of(const std::vector<int64_t>& shards, int64_t size) {
  std::vector<std::vector<int64_t>> arrays;
  for (const int64_t shard : shards) {
    if (arrays.empty() || arrays.back().front() / size != shard / size) arrays.emplace_back();
    arrays.back().push_back(shard);
  }
  return arrays;
}

SlurmJob job_of_shards(const SlurmExperiment& experiment, const std::vector<int64_t>& shards,
                       int64_t offset) {
  std::vector<int64_t> indices;
  for (const int64_t shard : shards) indices.push_back(shard - offset);
  const std::string limit =
      experiment.at_once > 0 ? fmt::format("%{}", experiment.at_once) : std::string();
  const std::string note =
      experiment.at_once > 0 ? fmt::format(", {} at once", experiment.at_once) : std::string();
  return {.kind = SlurmJobKind::kShards,
          .title = fmt::format("{}{}", format_count(std::ssize(shards), "shard", "shards"), note),
          .array = ranges_of_shards(indices) + limit,
          .script = script_of_shards(experiment, offset),
          .options = experiment.options};
}

}  // namespace

std::string slurm_folder(const std::string& cache_dir) { return join_path(cache_dir, "slurm"); }

std::vector<SlurmJob> slurm_jobs(const SlurmExperiment& experiment, const SlurmWork& work) {
  const std::vector<std::string>& cpu_options =
      experiment.cpu_options.empty() ? experiment.options : experiment.cpu_options;
  std::vector<SlurmJob> jobs;
  std::vector<SlurmJob::Wait> plan;
  if (work.plan) {
    const std::string shards = fmt::format("--shards={}", experiment.shards);
    jobs.push_back(
        {.kind = SlurmJobKind::kPlan,
         .title = fmt::format("the plan of {}", format_count(experiment.shards, "shard", "shards")),
         .script = script_of_job(experiment, "plan",
                                 joined({"shards", "plan", shards}, experiment.plan_flags)),
         .options = cpu_options});
    plan.push_back({.type = "afterok", .job = 0});
  }
  const int64_t size = std::min(experiment.max_array_size, kMostTasks);
  std::vector<SlurmJob::Wait> shards;
  for (const std::vector<int64_t>& array : arrays_of(work.shards, size)) {
    jobs.push_back(job_of_shards(experiment, array, array.front() / size * size));
    jobs.back().waits = plan;
    if (experiment.at_once > 0 && !shards.empty())
      jobs.back().waits.push_back({.type = "afterany", .job = shards.back().job});
    shards.push_back({.type = "afterok", .job = jobs.size() - 1});
  }
  if (work.merge) {
    jobs.push_back(
        {.kind = SlurmJobKind::kMerge,
         .title = "the merge",
         .script = script_of_job(experiment, "merge", joined({"merge"}, experiment.merge_flags)),
         .options = cpu_options,
         .waits = std::move(shards)});
  }
  return jobs;
}

// The options that the user may replace come first, because the last one of several counts. None of
// them is a #SBATCH line of the script, because variables such as SBATCH_NO_REQUEUE, which some
// sites set, would win over these.
std::vector<std::string> sbatch_options(const SlurmExperiment& experiment, const SlurmJob& job,
                                        const std::vector<std::string>& ids) {
  const char* const name = job.kind == SlurmJobKind::kPlan     ? "plan-%j.out"
                           : job.kind == SlurmJobKind::kShards ? "shards-%A_%a.out"
                                                               : "merge-%j.out";
  std::vector<std::string> words = {"--job-name=encode-shards", "--requeue", "--open-mode=append",
                                    "--output=" + output_path(experiment, name)};
  if (job.kind == SlurmJobKind::kShards) words.emplace_back("--signal=B:TERM@120");
  words.insert(words.end(), job.options.begin(), job.options.end());
  words.push_back("--chdir=" + experiment.directory);
  if (!job.array.empty()) words.push_back("--array=" + job.array);
  if (job.waits.empty()) return words;
  std::vector<std::string> waits;
  for (const SlurmJob::Wait& wait : job.waits) {
    // Slurm wants the jobs of one type together: afterok:1:2,afterany:2.
    if (waits.empty() || !waits.back().starts_with(wait.type + ":")) waits.push_back(wait.type);
    waits.back() += ":" + ids[wait.job];
  }
  words.push_back(fmt::format("--dependency={}", fmt::join(waits, ",")));
  words.emplace_back("--kill-on-invalid-dep=yes");
  return words;
}

}  // namespace encode
