#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <utility>

#include "encode/store.h"

#include "base/creatable.h"
#include "base/file.h"
#include "base/path_kind.h"
#include "base/system_call.h"
#include "base/units.h"
#include "preflight/checks.h"
#include "run_plan/cache_files.h"
#include "run_plan/directory_probe.h"
#include "run_plan/earlier_name.h"
#include "run_plan/early_checks.h"
#include "run_plan/final_outlook.h"
#include "run_plan/final_table.h"
#include "run_plan/fit_check.h"
#include "run_plan/output_guard.h"
#include "run_plan/quarantine.h"
#include "run_record/fault_log.h"
#include "store/attempt_folders.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/no_locks.h"
#include "store/run_files.h"
#include "supervisor/own_attempt.h"

namespace encode {
namespace {

// Returns what is wrong with a file that a run appends to, or "".
std::string append_problem(const std::string& path) {
  if (!path_exists(path, "io.stat")) return "";
  constexpr int kFlags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const UniqueFd fd(retried([&] { return ::open(path.c_str(), kFlags); }));
  return fd ? "" : system_error("io.create", "open", path, errno).detail().what;
}

void check_records(const std::string& cache_dir, PreflightFindings& findings) {
  std::vector<std::string> problems;
  const RunFiles files(cache_dir);
  for (const std::string& path : {files.faults(), files.memory()}) {
    const std::string problem = append_problem(path);
    if (!problem.empty()) problems.push_back(fmt::format("{}: {}", path, problem));
  }
  const FaultHistory faults = read_faults(files.faults());
  problems.insert(problems.end(), faults.problems.begin(), faults.problems.end());
  const auto count = std::count_if(faults.records.begin(), faults.records.end(),
                                   [](const FaultRecord& fault) { return !is_notice(fault.type); });
  for (const std::string& problem : problems)
    findings.yellow("fault records", problem, "move the file away; a run makes a new one");
  if (!problems.empty()) return;
  findings.green("fault records",
                 fmt::format("faults.jsonl and memory.jsonl can be written; {} of earlier "
                             "runs (encode status shows them)",
                             format_count(count, "fault", "faults")));
}

// Calls `check`. Returns true if it has failed only because the file system has no locks.
template <typename Check>
bool has_no_locks(const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    if (error.detail().expected != kFileSystemWithLocks) throw;
    return true;
  }
  return false;
}

}  // namespace

void check_cache_directory(const RunConfig& config, PreflightFindings& findings) {
  const std::string& cache_dir = config.store.cache_dir;
  findings.at(RunStep::kCache);
  const bool good = findings.guard("cache", [&] {
    const std::string directory = first_existing_directory(cache_dir);
    const bool used =
        directory == cache_dir && entry_exists(RunFiles(cache_dir).lock(), "store.lock");
    std::string why = place_without_safe_locks(config.store);
    const bool shared = !why.empty();
    const bool no_locks = has_no_locks([&] {
      if (used) check_lock_free(cache_dir);
      if (!used && !shared) probe_creation(directory);
    });
    if (no_locks) why = fmt::format("the file system of {} has no locks", cache_dir);
    if (!why.empty()) {
      findings.green("cache", fmt::format("{}, so the run works in a directory of its own in {}",
                                          why, RunFiles(cache_dir).own_attempts()));
    } else if (used) {
      findings.green("cache", cache_dir + ": no other run uses it");
    } else {
      const std::string place =
          fmt::format(" in {}; the run creates it",
                      std::filesystem::absolute(directory).lexically_normal().string());
      findings.green("cache", fmt::format("{}: files can be created and locked{}", cache_dir,
                                          directory == cache_dir ? "" : place));
    }
  });
  findings.at(RunStep::kLog);
  findings.guard("log", [&] { check_log(config); });
  if (!good) return;
  findings.guard("cache", [&] {
    if (!path_exists(cache_dir, "io.stat"))
      return findings.green("fault records", "the run begins them in the new cache directory");
    check_records(cache_dir, findings);
    if (!config.store.overwrite) check_cache_files(cache_dir);
  });
}

std::string without_cache(const ErrorDetail& error) {
  return fmt::format("the run would go on without the embedding cache: [{}] {}: {}; found {}",
                     error.code.name(), error.what, error.where, error.found);
}

// Problems are only yellow, because a run goes on without the embedding cache.
bool probe_embedding_cache(const std::string& dir, PreflightFindings& findings) {
  constexpr const char* kCheck = "embedding cache";
  try {
    const std::string directory = first_existing_directory(dir);
    const bool there = directory == dir && !list_directory(dir).empty();
    if (there) return true;
    probe_creation(directory);
    findings.green(kCheck, dir + ": empty; the run makes a new one");
  } catch (const Error& error) {
    findings.yellow(kCheck, without_cache(error.detail()), error.detail().hint);
  }
  return false;
}

namespace {

void check_chunks(const RunConfig& config, const StreamPlan& plan, StreamOutlook& outlook,
                  PreflightFindings& findings) {
  const std::string check = "results " + plan.config.name();
  const std::string run_dir = current_run_dir(config.store.cache_dir);
  const std::string folder = chunks_dir(run_dir, plan.config.name());
  check_chunk_owner(run_dir, plan.identity, plan.chunk_rows);
  outlook.encoded = plan.identity.rows == 0;
  // A missing stream.json is harmless: a run that was killed early leaves such a folder, and the
  // next run writes the file.
  const std::string stream_file = fmt::format("{}/{}", folder, kStreamFile);
  if (!path_exists(stream_file, "io.stat")) return;
  ChunkProgress progress;
  try {
    progress = read_chunk_progress(folder);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kData) throw;
    return findings.yellow(check, stream_file + ": " + error.detail().what,
                           "the run writes the file again");
  }
  for (const std::string& problem : progress.problems)
    findings.yellow(check, problem, "the run encodes damaged chunks again");
  if (progress.rows_set_aside > 0) {
    findings.yellow(check,
                    fmt::format("{} set aside by earlier runs",
                                format_count(progress.rows_set_aside, "row was", "rows were")),
                    "see encode status; encode retry-failed tries them again");
  }
  outlook.origins = progress.origins;
  outlook.chunk_rows = progress.chunk_rows;
  if (progress.chunks == progress.chunk_count && progress.problems.empty())
    outlook.encoded = read_chunk_folder(folder).damaged.empty();
  outlook.rows_set_aside = progress.rows_set_aside;
  findings.green(check,
                 fmt::format("{} of {} committed; the run goes on after them", progress.chunks,
                             format_count(progress.chunk_count, "chunk is", "chunks are")));
}

// Finds out what StreamFinisher::resume() will find.
StreamOutlook check_stream(const RunConfig& config, const StreamPlan& plan, bool check_hash,
                           PreflightFindings& findings) {
  const StoreOptions& store = config.store;
  const std::string check = "results " + plan.config.name();
  StreamOutlook outlook;
  first_existing_directory(parent_directory(plan.final_path));
  const FinalOutlook final = final_outlook(store, plan, check_hash);
  if (final.complete()) {
    outlook.encoded = outlook.finished = true;
    findings.green(check, plan.final_path + " is complete already");
    return outlook;
  }
  if (final.state == FinalState::kDamaged)
    findings.yellow(check, plan.final_path + " is damaged or unfinished", "the run makes it again");
  if (store.chunked()) {
    check_chunks(config, plan, outlook, findings);
  } else {
    outlook.encoded = plan.identity.rows == 0 || has_standard_rows(store, plan);
  }
  return outlook;
}

void check_space(const RunConfig& config, const CheckedExperiment& experiment,
                 PreflightFindings& findings) {
  std::vector<StreamPlan> plans;
  bool whole = true;
  for (const CheckedStream& stream : experiment.streams) {
    plans.push_back(stream.plan);
    plans.back().scan.rows = stream.rows;
    whole = whole && stream.whole;
  }
  const auto look = [&] {
    const ExperimentDisk disk = check_disk(config, plans);
    if (const auto warning = disk_warning(disk))
      return findings.yellow(
          "space", *warning,
          "free space, or give --cache-dir DIR and --output FILE on another disk");
    findings.green(
        "space", fmt::format("{} free; the run needs {} {}", format_bytes(disk.space.usable_bytes),
                             whole ? "at most" : "about", format_bytes(disk.need.peak.total())));
  };
  if (whole) {
    findings.guard("space", look);
    return;
  }
  // The number of rows is an estimate; the run itself counts them and refuses what cannot fit.
  try {
    look();
  } catch (const Error& error) {
    findings.yellow("space",
                    fmt::format("{}: about {} are needed; found {}", error.detail().what,
                                error.detail().expected, error.detail().found),
                    error.detail().hint);
  }
}

// Makes the checks that a run makes after it has read the inputs.
void check_plan(const RunConfig& config, CheckedExperiment& experiment,
                PreflightFindings& findings) {
  findings.at(RunStep::kPlan);
  RunPlan plan;
  bool good = experiment.streams.size() == config.streams.size();
  for (CheckedStream& stream : experiment.streams) {
    if (!stream.whole) continue;
    stream.whole = findings.guard("input " + stream.plan.config.name(), [&] {
      require_columns(config.store, stream.plan);
      finish_stream_plan(stream.plan, stream.model->opened);
      take_earlier_name(config, stream.plan);
    });
    good = good && stream.whole;
    plan.streams.push_back(stream.plan);
  }
  if (!good) return;
  check_space(config, experiment, findings);
  if (plan.streams.size() < config.streams.size()) return;
  findings.guard("combine", [&] { plan.combine = plan_combined_matrices(config, plan.streams); });
  findings.guard("quarantine", [&] { check_quarantine(config.store, plan); });
}

}  // namespace

void check_outputs_and_plan(const RunConfig& config, CheckedExperiment& experiment,
                            PreflightFindings& findings) {
  findings.at(RunStep::kOutputs);
  std::vector<StreamPlan> plans;
  for (const CheckedStream& stream : experiment.streams) plans.push_back(stream.plan);
  findings.guard("outputs", [&] {
    require_tables(config.store, plans);
    OutputGuard guard(config.store.overwrite);
    for (const auto& [path, model] : experiment.models) guard.protect(model->opened.directory);
    check_outputs(config, std::move(guard));
    findings.green("outputs", "no output would replace a file that is not from encode");
  });
  findings.guard("outputs", [&] { check_output_directories(plans, experiment.probed); });
  check_inputs(experiment, findings);
  for (CheckedStream& stream : experiment.streams)
    stream.plan.chunk_rows = config.store.chunk_rows(stream.rows);
  check_plan(config, experiment, findings);
}

std::vector<StreamOutlook> check_results(const RunConfig& config, CheckedExperiment& experiment,
                                         PreflightFindings& findings) {
  std::vector<StreamOutlook> outlooks;
  std::set<std::string>& tried = experiment.probed;
  for (const CheckedStream& stream : experiment.streams) {
    StreamOutlook& outlook = outlooks.emplace_back();
    findings.at(RunStep::kResume);
    const bool good = !stream.whole || findings.guard("results " + stream.plan.config.name(), [&] {
      outlook = check_stream(config, stream.plan, /*check_hash=*/false, findings);
    });
    if (!good || outlook.finished) continue;
    findings.at(RunStep::kWriting);
    findings.guard("cache", [&] { probe_once(config.store.cache_dir, tried); });
    findings.guard("outputs", [&] { probe_once(parent_directory(stream.plan.final_path), tried); });
  }
  const auto encoded = [](const StreamOutlook& outlook) { return outlook.encoded; };
  const bool nothing_left = outlooks.size() == config.streams.size() &&
                            std::all_of(outlooks.begin(), outlooks.end(), encoded);
  if (!nothing_left || config.store.quarantine != QuarantinePolicy::kError) return outlooks;
  for (size_t i = 0; i < outlooks.size(); ++i) {
    if (outlooks[i].rows_set_aside == 0) continue;
    const std::string& name = experiment.streams[i].plan.config.name();
    findings.at(RunStep::kResume);
    findings.red(
        "results " + name,
        {.code = "run.rows_set_aside",
         .what = fmt::format("{} of {} could not be encoded; all other rows are",
                             format_count(outlooks[i].rows_set_aside, "row", "rows"), name),
         .where = chunks_dir(config.store.cache_dir, name),
         .expected = "a vector for every row",
         .found = "rows that earlier runs have set aside",
         .hint = "see encode status; run encode retry-failed, or give --quarantine zeros "
                 "or drop (semantic.quarantine in the config)"});
  }
  return outlooks;
}

bool is_complete(const RunConfig& config, const CheckedExperiment& experiment) {
  if (experiment.streams.size() != config.streams.size()) return false;
  PreflightFindings ignored;  // check_results() has reported them already
  const auto encoded = [&](const CheckedStream& stream) {
    bool done = false;
    const bool good = stream.whole && ignored.guard("results", [&] {
      done = check_stream(config, stream.plan, /*check_hash=*/true, ignored).encoded;
    });
    return good && done;
  };
  return std::all_of(experiment.streams.begin(), experiment.streams.end(), encoded);
}

}  // namespace encode
