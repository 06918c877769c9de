#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "encode/job.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "preflight/checks.h"
#include "run_plan/job_unit.h"
#include "run_plan/resume.h"
#include "store/run_files.h"
#include "supervisor/worker/fault_policy.h"

namespace encode {
namespace {

// Makes a unit for each model and each set of options. Streams that differ only in their input
// share a unit.
std::vector<JobUnit> make_units(const CheckedExperiment& experiment) {
  std::vector<JobUnit> units;
  for (const CheckedStream& stream : experiment.streams) {
    const StreamPlan& plan = stream.plan;
    const bool known = std::any_of(units.begin(), units.end(), [&](const JobUnit& unit) {
      return unit.model_path == plan.model_path && unit.effective == plan.effective;
    });
    if (known) continue;
    JobUnit& unit = units.emplace_back(job_unit(plan));
    // The worker reads no rows. A scan with a row of text makes it load the tokenizer.
    unit.scan = {};
    unit.scan.rows = 1;
    unit.scan.tokenized = stream.model->tokenizer == nullptr ? 1 : 0;
  }
  return units;
}

// Returns the name that a defence of job/defences.h has in the findings.
std::string check_of(const std::string& defence) {
  using Names = std::array<std::pair<std::string_view, std::string_view>, 4>;
  constexpr Names kNames = {{{"ids", "token ids"},
                             {"positions", "positions"},
                             {"vectors", "vectors"},
                             {"release", "memory release"}}};
  for (const auto& [name, check] : kNames) {
    if (name == defence) return std::string(check);
  }
  return defence;
}

// Turns the events of the worker into findings.
class Listener {
 public:
  Listener(std::string requested, WorkerFacts& facts, PreflightFindings& findings)
      : requested_(std::move(requested)), facts_(facts), findings_(findings) {}

  void event(const WorkerEvent& event) {
    std::visit(Overloaded{[this](const DeviceChecked& device) { on(device); },
                          [this](const ModelLoaded& loaded) { on(loaded); },
                          [this](const DefenceTried& tried) { on(tried); },
                          [this](const LogLine& line) {
                            if (line.level != LogLevel::kWarning) return;
                            findings_.yellow("worker", line.message,
                                             "see docs/models.md and "
                                             "docs/gpu.md");
                          },
                          [this](const CacheProblem& problem) {
                            cache_problem_ = true;
                            findings_.yellow("embedding cache", without_cache(problem.error),
                                             problem.error.hint);
                          },
                          [](const auto&) {}},
               event);
  }
  bool cache_problem() const { return cache_problem_; }

 private:
  void on(const DeviceChecked& checked) {
    facts_.device = checked.device;
    std::string text =
        fmt::format("{}, LibTorch {}", describe(checked.device), checked.device.libtorch);
    if (!checked.device.driver.empty()) text += ", driver " + checked.device.driver;
    if (!checked.allocator.empty()) text += "; allocator " + checked.allocator;
    if (checked.synchronous_launches) text += "; synchronous launches";
    findings_.green("device", preview(text, 400));
  }
  void on(const ModelLoaded& loaded) {
    findings_.green("self-test",
                    fmt::format("the model was loaded in {}, gives {} and passes its checks",
                                format_duration(loaded.seconds),
                                format_count(loaded.dim, "column", "columns")));
  }
  void on(const DefenceTried& tried) {
    const std::string check = check_of(tried.name);
    if (tried.works) return findings_.green(check, preview(tried.found, 200));
    findings_.red(check, {.code = "preflight.defence",
                          .what = "a defence against faults does not work",
                          .where = requested_,
                          .expected = "",
                          .found = tried.found,
                          .hint = "this is a defect of encode, or the device is broken"});
  }

  const std::string requested_;
  WorkerFacts& facts_;
  PreflightFindings& findings_;
  bool cache_problem_ = false;
};

// Copies a file of earlier runs for the worker: the vectors of the self-test.
void copy_earlier_file(const WorkerCheck& check) {
  const std::string earlier = RunFiles(check.cache_dir).self_test();
  if (check.cache_dir.empty() || !path_exists(earlier, "io.stat")) return;
  std::error_code failure;
  std::filesystem::copy_file(earlier, RunFiles(check.scratch).self_test(),
                             std::filesystem::copy_options::overwrite_existing, failure);
  if (failure) throw system_error("io.read", "copy", earlier, failure.value());
}

// Runs one worker. Returns how it has ended.
WorkerOutcome run_once(const WorkerCheck& check, const JobSpec& job, WorkerFacts& facts,
                       PreflightFindings& findings) {
  copy_earlier_file(check);
  const std::string path = RunFiles(check.scratch).job(0);
  write_file_without_sync(path, to_json(job));
  Listener listener(to_string(job.hardware.device), facts, findings);
  WorkerOutcome outcome = run_alone(check.worker, check.stop, path,
                                    [&](const WorkerEvent& event) { listener.event(event); });
  const bool opened = outcome.end == WorkerOutcome::End::kFinished && !listener.cache_problem();
  if (opened && !job.embedding_cache.dir.empty())
    findings.green("embedding cache", job.embedding_cache.dir + ": can be read");
  return outcome;
}

// Starts the worker once more after a failure from which a run would recover (without the embedding
// cache, if the cache may be the cause). This tells a permanent failure from an accident.
WorkerOutcome run_twice(const WorkerCheck& check, JobSpec job, WorkerFacts& facts,
                        PreflightFindings& findings) {
  PreflightFindings first;
  first.at(RunStep::kWorker);
  WorkerOutcome outcome = run_once(check, job, facts, first);
  if (outcome.end != WorkerOutcome::End::kRetry) {
    findings.add(first);
    return outcome;
  }
  if (!job.embedding_cache.dir.empty()) {
    findings.yellow("embedding cache", without_cache(outcome.error),
                    "check the cache with: encode cache verify --dir " + job.embedding_cache.dir);
    job.embedding_cache = {};
  } else {
    findings.yellow("worker", "the first worker failed: " + outcome.error.what, outcome.error.hint);
  }
  return run_once(check, job, facts, findings);
}

}  // namespace

WorkerFacts check_worker(const WorkerCheck& check, const HardwareOptions& hardware,
                         const CheckedExperiment& experiment, PreflightFindings& findings) {
  WorkerFacts facts;
  findings.at(RunStep::kWorker);
  findings.guard("worker", [&] {
    const JobSpec job = {.cache_dir = check.scratch,
                         .hardware = hardware,
                         .embedding_cache = check.embedding_cache,
                         .units = make_units(experiment),
                         .check_only = true};
    WorkerOutcome outcome = run_twice(check, job, facts, findings);
    facts.peak_bytes = outcome.peak_resident_bytes;
    if (outcome.end == WorkerOutcome::End::kStopped) throw Stopped();
    if (outcome.end == WorkerOutcome::End::kFinished) return;
    if (outcome.end == WorkerOutcome::End::kRetry)
      outcome.error = after_last_restart(std::move(outcome.error));
    throw Error(std::move(outcome.error));
  });
  return facts;
}

}  // namespace encode
