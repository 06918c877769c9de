#include "shards/slurm_programs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "encode/error.h"

#include "base/run_program.h"
#include "base/shell_quote.h"
#include "base/units.h"

namespace encode {
namespace {

constexpr size_t kQuotedBytes = 1000;

ProgramOutput run(const std::vector<std::string>& words, const std::string& input = {}) {
  std::optional<ProgramOutput> output = run_program(words, input, "slurm.failed");
  if (output) return *std::move(output);
  throw Error({.code = "slurm.absent",
               .what = fmt::format("there is no program {}", words.front()),
               .where = "PATH",
               .expected = "the commands of Slurm: sbatch, scontrol, squeue and scancel",
               .found = "none of this name",
               .hint =
                   "run this on a machine of the cluster, such as a login node; --dry-run shows "
                   "the jobs without Slurm"});
}

std::string trimmed(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line = trimmed(line); !line.empty()) lines.push_back(line);
  }
  return lines;
}

Error failed(const std::vector<std::string>& words, std::string expected,
             const ProgramOutput& output) {
  const std::string said = trimmed(output.err.empty() ? output.out : output.err);
  return Error({.code = "slurm.failed",
                .what = fmt::format("{} has failed", words.front()),
                .where = preview(shell_command(words), kQuotedBytes),
                .expected = std::move(expected),
                .found = fmt::format("exit code {}{}{}", output.exit_code, said.empty() ? "" : ": ",
                                     shorten(said, kQuotedBytes)),
                .hint = "correct what the message names, such as an option after --, and run the "
                        "same command again"});
}

void require_success(const std::vector<std::string>& words, const ProgramOutput& output) {
  if (output.exit_code != 0) throw failed(words, "exit code 0", output);
}

std::vector<std::string> with_cluster(std::vector<std::string> words, const std::string& cluster) {
  if (!cluster.empty()) words.push_back("--clusters=" + cluster);
  return words;
}

std::map<std::string, std::vector<std::string>> by_cluster(const std::vector<SlurmJobId>& jobs) {
  std::map<std::string, std::vector<std::string>> numbers;
  for (const SlurmJobId& job : jobs) numbers[job.cluster].push_back(job.number);
  return numbers;
}

}  // namespace

void forget_slurm_variables() {
  constexpr auto kSettings = std::to_array<std::string_view>(
      {"SBATCH_ARRAY_INX", "SBATCH_WAIT", "SQUEUE_ACCOUNT", "SQUEUE_ARRAY", "SQUEUE_NAMES",
       "SQUEUE_PARTITION", "SQUEUE_QOS", "SQUEUE_STATES", "SQUEUE_USERS"});
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool of_user = name.starts_with("SLURM_CONF") || name == "SLURM_CLUSTERS";
    const bool of_job = name.starts_with("SLURM_") && !of_user;
    if (of_job || std::ranges::find(kSettings, name) != kSettings.end()) names.emplace_back(name);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

bool is_slurm_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

int64_t slurm_max_array_size() {
  const std::vector<std::string> words = {"scontrol", "show", "config"};
  const ProgramOutput output = run(words);
  require_success(words, output);
  for (const std::string& line : lines_of(output.out)) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos || trimmed(line.substr(0, equals)) != "MaxArraySize") continue;
    const std::string value = trimmed(line.substr(equals + 1));
    int64_t size = 0;
    std::from_chars(value.data(), value.data() + value.size(), size);
    if (size > 0) return size;
    throw failed(words, "a positive MaxArraySize: the cluster has job arrays",
                 {.exit_code = 0, .out = line});
  }
  throw failed(words, "a line MaxArraySize = N", output);
}

// Some sites have wrappers of sbatch that print a banner before the number of the job.
SlurmJobId submit_slurm_job(const std::vector<std::string>& options, const std::string& script) {
  std::vector<std::string> words = {"sbatch", "--parsable"};
  words.insert(words.end(), options.begin(), options.end());
  const ProgramOutput output = run(words, script);
  require_success(words, output);
  const std::vector<std::string> lines = lines_of(output.out);
  const std::string last = lines.empty() ? "" : lines.back();
  const size_t semicolon = last.find(';');
  SlurmJobId job = {.number = last.substr(0, semicolon)};
  if (semicolon != std::string::npos) job.cluster = last.substr(semicolon + 1);
  if (is_slurm_number(job.number)) return job;
  throw failed(words, "the number of the job: look with squeue whether the job was submitted",
               {.exit_code = 0, .out = output.out});
}

std::vector<QueuedSlurmJob> queued_slurm_jobs(const std::vector<SlurmJobId>& jobs) {
  std::vector<QueuedSlurmJob> found;
  for (const auto& [cluster, numbers] : by_cluster(jobs)) {
    const std::vector<std::string> words =
        with_cluster({"squeue", "--noheader", "--format=%F %T (%r)",
                      fmt::format("--jobs={}", fmt::join(numbers, ","))},
                     cluster);
    const ProgramOutput output = run(words);
    // squeue fails if it is asked for one job that Slurm has forgotten.
    const bool forgotten = output.err.find("Invalid job id") != std::string::npos;
    if (!forgotten) require_success(words, output);
    for (std::string line : lines_of(output.out)) {
      constexpr std::string_view kNoReason = " (None)";
      if (line.starts_with("CLUSTER:")) continue;
      if (line.ends_with(kNoReason)) line.resize(line.size() - kNoReason.size());
      const size_t space = std::min(line.find(' '), line.size());
      QueuedSlurmJob job = {.id = {.number = line.substr(0, space), .cluster = cluster},
                            .state = trimmed(line.substr(space))};
      if (!is_slurm_number(job.id.number)) throw failed(words, "lines like 12 RUNNING", output);
      if (std::ranges::find(found, job) == found.end()) found.push_back(std::move(job));
    }
  }
  return found;
}

void cancel_slurm_jobs(const std::vector<SlurmJobId>& jobs) {
  for (const auto& [cluster, numbers] : by_cluster(jobs)) {
    std::vector<std::string> words = with_cluster({"scancel"}, cluster);
    words.insert(words.end(), numbers.begin(), numbers.end());
    require_success(words, run(words));
  }
}

}  // namespace encode
