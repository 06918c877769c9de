#include "preflight/store_checks.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include "encode/store.h"

#include "base/file.h"
#include "base/npy.h"
#include "base/path_kind.h"
#include "base/system_call.h"
#include "base/temp_path.h"
#include "base/units.h"
#include "memory/disk_space.h"
#include "store/audit.h"
#include "store/layout.h"
#include "supervisor/plan/cache_files.h"
#include "supervisor/plan/final_table.h"
#include "supervisor/plan/output_guard.h"
#include "supervisor/plan/resume.h"
#include "supervisor/report/fault_log.h"
#include "supervisor/report/memory_log.h"

namespace encode {
namespace {

// A file that is deleted at the end of the scope. A run would sweep it as a temporary file of its
// job file.
class ProbeFile {
 public:
  explicit ProbeFile(const std::string& directory)
      : target_(directory + "/job.json"), path_(new_temp_path(target_)) {
    constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    fd_ = UniqueFd(retried([&] { return ::open(path_.c_str(), kFlags, 0666); }));
    if (!fd_) throw system_error("io.create", "create a file", path_, errno);
  }
  ProbeFile(const ProbeFile&) = delete;
  ProbeFile& operator=(const ProbeFile&) = delete;
  ~ProbeFile() {
    if (fd_) ::unlink(path_.c_str());
  }

  void fill() const {
    constexpr size_t kBytes = size_t{256} << 10;  // more than a file system stores in an inode
    const std::string bytes(kBytes, '\x5a');
    write_all(fd_, bytes.data(), bytes.size(), path_);
    if (retried([&] { return ::fsync(fd_.get()); }) != 0)
      throw system_error("io.sync", "sync", path_, errno);
  }
  void rename() {
    const std::string other = new_temp_path(target_);
    if (retried([&] { return ::rename(path_.c_str(), other.c_str()); }) != 0)
      throw system_error("io.commit", "rename", path_, errno);
    path_ = other;
    sync_directory(parent_directory(path_));
  }
  void lock() const { check_locks(fd_, path_); }
  void remove() {
    remove_file(path_);
    fd_.close();
  }

 private:
  std::string target_;
  std::string path_;
  UniqueFd fd_;
};

// Says what is wrong with a file that a run appends to, or "".
std::string append_problem(const std::string& path) {
  if (!path_exists(path, "io.stat")) return "";
  constexpr int kFlags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const UniqueFd fd(retried([&] { return ::open(path.c_str(), kFlags); }));
  return fd ? "" : system_error("io.create", "open", path, errno).detail().what;
}

void check_records(const std::string& cache_dir, PreflightFindings& findings) {
  std::vector<std::string> problems;
  for (const std::string& path : {fault_log_path(cache_dir), memory_log_path(cache_dir)}) {
    const std::string problem = append_problem(path);
    if (!problem.empty()) problems.push_back(fmt::format("{}: {}", path, problem));
  }
  const FaultHistory faults = read_faults(fault_log_path(cache_dir));
  problems.insert(problems.end(), faults.problems.begin(), faults.problems.end());
  const auto count = std::count_if(faults.records.begin(), faults.records.end(),
                                   [](const FaultRecord& fault) { return !is_notice(fault.type); });
  for (const std::string& problem : problems)
    findings.yellow("fault records", problem, "move the file away; a run makes a new one");
  if (!problems.empty()) return;
  findings.green("fault records",
                 fmt::format("faults.jsonl and memory.jsonl can be written; {} faults of earlier "
                             "runs (encode status shows them)",
                             count));
}

// The run itself would be told that the cache is in use, so this is not an error of the experiment.
void check_lock(const std::string& cache_dir, PreflightFindings& findings) {
  const LockState lock = read_lock_state(cache_dir);
  if (lock.held == LockState::Held::kYes) {
    findings.yellow("lock",
                    fmt::format("process {} on {} is using the cache directory; a second run would "
                                "end with exit code 75",
                                lock.pid, preview(lock.host)),
                    "wait for that run; encode status shows how far it is");
  } else if (lock.held == LockState::Held::kUnknown) {
    findings.yellow("lock", lock.problem, "check the file system of the cache directory");
  }
}

int64_t file_bytes(const CheckedStream& stream, int64_t vectors, int64_t item_bytes,
                   int64_t columns) {
  constexpr int64_t kOffsetBytes = 8;
  const int64_t offsets = stream.plan.effective.token_embeddings() ? kOffsetBytes * vectors : 0;
  return vectors * columns * item_bytes + offsets;
}

}  // namespace

void probe_directory(const std::string& directory) {
  ProbeFile probe(directory);
  probe.fill();
  probe.rename();
  probe.lock();
  probe.remove();
}

std::string nearest_directory(const std::string& path) {
  namespace fs = std::filesystem;
  fs::path directory = fs::absolute(path).lexically_normal();
  while (!path_exists(directory.string(), "io.stat") && directory.has_relative_path())
    directory = directory.parent_path();
  return directory.string();
}

void check_cache_directory(const RunConfig& config, PreflightFindings& findings) {
  const std::string& cache_dir = config.store.cache_dir;
  const bool good = findings.guard("cache", [&] {
    const std::string directory = nearest_directory(cache_dir);
    if (path_kind(directory, "io.stat") != PathKind::kDirectory) {
      throw Error({.exit_code = ExitCode::kCantCreate,
                   .code = "io.mkdir",
                   .what = "the cache directory cannot be created",
                   .where = directory,
                   .expected = "a directory",
                   .found = "a file",
                   .hint = "choose another cache directory, or move the file away"});
    }
    probe_directory(directory);
    findings.green("cache",
                   fmt::format("{}: files can be written, synced, renamed and locked{}", cache_dir,
                               path_exists(cache_dir, "io.stat")
                                   ? ""
                                   : fmt::format(" in {}; the run creates it", directory)));
  });
  if (!good) return;
  findings.guard("cache", [&] {
    if (!path_exists(cache_dir, "io.stat"))
      return findings.green("fault records", "the run begins them in the new cache directory");
    check_lock(cache_dir, findings);
    check_records(cache_dir, findings);
    if (!config.store.overwrite) check_cache_files(cache_dir);
  });
}

namespace {

void check_stream_results(const RunConfig& config, const CheckedStream& stream,
                          PreflightFindings& findings) {
  const StreamPlan& plan = stream.plan;
  const std::string check = "results " + plan.config.name();
  const FinalState state = final_state(plan.final_path, plan.identity, /*check_hash=*/false);
  if (state == FinalState::kForeign) throw foreign_final_error(plan);
  if (state == FinalState::kValid)
    return findings.green(check, plan.final_path + " is complete already");
  if (state == FinalState::kDamaged)
    findings.yellow(check, plan.final_path + " is damaged or unfinished", "the run makes it again");
  const std::string folder = chunks_dir(config.store.cache_dir, plan.config.name());
  // A run that was killed early leaves a folder without a description, which the next run writes.
  if (!path_exists(fmt::format("{}/{}", folder, kStreamFile), "io.stat")) return;
  check_chunk_owner(folder, plan.identity);
  const ChunkProgress progress = read_chunk_progress(folder);
  for (const std::string& problem : progress.problems)
    findings.yellow(check, problem, "the run encodes damaged chunks again");
  if (progress.rows_set_aside > 0) {
    findings.yellow(check,
                    fmt::format("{} rows were set aside by earlier runs",
                                format_count(progress.rows_set_aside)),
                    "see encode status; encode retry-failed tries them again");
  }
  findings.green(check, fmt::format("{} of {} chunks are committed; the run goes on after them",
                                    progress.chunks, progress.chunk_count));
}

}  // namespace

void check_results(const RunConfig& config, const CheckedExperiment& experiment,
                   PreflightFindings& findings) {
  const bool good = findings.guard("outputs", [&] {
    std::vector<StreamPlan> plans;
    for (const CheckedStream& stream : experiment.streams) plans.push_back(stream.plan);
    require_tables(config.store, plans);
    for (const StreamPlan& plan : plans) require_columns(config.store, plan);
    OutputGuard guard(config.store.overwrite);
    for (const auto& [path, model] : experiment.models) guard.protect(model->opened.directory);
    const std::string log =
        config.log.file.empty() ? config.store.cache_dir + "/encode.log" : config.log.file;
    OutputGuard inputs(config.store.overwrite);
    protect_inputs(config, inputs);
    inputs.check_log(log);
    check_outputs(config, std::move(guard));
    findings.green("outputs", "no output would replace a file that is not from encode");
  });
  if (!good || config.store.fresh) return;
  for (const CheckedStream& stream : experiment.streams) {
    if (!stream.whole) continue;
    findings.guard("results " + stream.plan.config.name(),
                   [&] { check_stream_results(config, stream, findings); });
  }
  std::vector<StreamPlan> plans;
  for (const CheckedStream& stream : experiment.streams) {
    if (stream.whole) plans.push_back(stream.plan);
  }
  if (plans.size() == config.streams.size() && !config.combine.empty())
    findings.guard("combine", [&] { plan_combined_matrices(config, plans); });
}

SpaceNeeds space_needs(const RunConfig& config, const CheckedExperiment& experiment) {
  const StoreOptions& store = config.store;
  const OutputType type = store.final_format.type;
  const bool chunked = store.use_chunked_encoding && store.save_chunks;
  SpaceNeeds needs;
  for (const CheckedStream& stream : experiment.streams) {
    const EffectiveResult& effective = stream.plan.effective;
    const int64_t vectors =
        effective.token_embeddings()
            ? static_cast<int64_t>(static_cast<double>(stream.rows) * stream.tokens_per_row)
            : stream.rows;
    const int64_t float32 = file_bytes(stream, vectors, 4, effective.dim);
    const InputScan& scan = stream.plan.scan;
    const double row_bytes =
        static_cast<double>(scan.text_bytes) / static_cast<double>(std::max<int64_t>(1, scan.rows));
    const int64_t final_bytes =
        file_bytes(stream, vectors, npy_item_bytes(npy_type(type)),
                   output_columns(type, effective.dim)) +
        column_bytes(store.final_format, stream.rows,
                     static_cast<int64_t>(row_bytes * static_cast<double>(stream.rows)));
    const bool combined = std::any_of(
        config.combine.begin(), config.combine.end(), [&](const CombineConfig& combine) {
          const auto& names = combine.streams;
          return combine.split == stream.plan.config.split &&
                 std::find(names.begin(), names.end(), stream.plan.config.stream) != names.end();
        });
    needs.finals += final_bytes * (combined ? 2 : 1);
    const bool float32_first =
        !chunked && (type != OutputType::kFloat32 || store.final_format.file != MatrixFormat::kNpy);
    const int64_t chunks = chunked || float32_first ? float32 : 0;
    needs.chunks += chunks;
    needs.largest_chunks = std::max(needs.largest_chunks, chunks);
    needs.largest_file = std::max({needs.largest_file, final_bytes, float32_first ? float32 : 0});
  }
  return needs;
}

SpaceFacts space_facts(const std::string& directory) {
  struct statvfs system = {};
  if (::statvfs(directory.c_str(), &system) != 0)
    throw system_error("io.stat", "ask for the free space of", directory, errno);
  SpaceFacts facts;
  facts.free_bytes = static_cast<int64_t>(system.f_bavail) * static_cast<int64_t>(system.f_frsize);
  struct rlimit limit = {};
  const bool limited =
      ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < static_cast<rlim_t>(INT64_MAX);
  // The log and the records of a run need a file of some size, so a limit of 0 counts as 1.
  if (limited) facts.file_limit_bytes = std::max<int64_t>(1, static_cast<int64_t>(limit.rlim_cur));
  return facts;
}

void check_space(const SpaceNeeds& needs, const SpaceFacts& facts, const std::string& directory,
                 PreflightFindings& findings) {
  const auto too_little = [&](std::string what, int64_t need, int64_t found, std::string hint) {
    findings.red("space", {.exit_code = ExitCode::kIoError,
                           .code = "preflight.space",
                           .what = std::move(what),
                           .where = directory,
                           .expected = format_bytes(need),
                           .found = format_bytes(found),
                           .hint = std::move(hint)});
  };
  const size_t before = findings.all().size();
  // The log, the records and the job of a run.
  constexpr int64_t kOtherFiles = 1 << 20;
  const int64_t largest = std::max(needs.largest_file, kOtherFiles);
  if (facts.file_limit_bytes > 0 && facts.file_limit_bytes < largest) {
    too_little("the limit of file sizes (ulimit -f) is below the largest file of the run", largest,
               facts.file_limit_bytes, "raise the limit: ulimit -f unlimited");
  }
  const int64_t least = needs.finals + needs.largest_chunks + kOtherFiles;
  const int64_t most = needs.finals + needs.chunks + kOtherFiles;
  if (facts.free_bytes < least) {
    too_little("the disk has too little room for the results", least, facts.free_bytes,
               "free space, or choose another cache directory or a smaller output_dtype");
  } else if (facts.free_bytes < most) {
    findings.yellow("space",
                    fmt::format("{} are free; the chunks and matrices may need {}",
                                format_bytes(facts.free_bytes), format_bytes(most)),
                    "free space, or run the streams one after the other");
  }
  if (findings.all().size() > before) return;
  findings.green("space", fmt::format("{} free; the run needs at most {}",
                                      format_bytes(facts.free_bytes), format_bytes(most)));
}

}  // namespace encode
