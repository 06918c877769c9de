#include "shards/clean_shards.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/units.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_paths.h"
#include "run_record/run_state.h"
#include "shards/attempt.h"
#include "shards/attempt_files.h"
#include "shards/part.h"
#include "store/attempt_folders.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/run_files.h"

namespace encode {
namespace {

// Returns when something in the folder was last changed, in seconds since 1970.
int64_t last_change(const std::string& folder) {
  int64_t last = 0;
  const auto look_at = [&](const std::string& path) {
    struct stat info = {};
    if (::lstat(path.c_str(), &info) == 0) last = std::max<int64_t>(last, info.st_mtime);
  };
  look_at(folder);
  for (const std::string& name : list_directory(folder)) look_at(join_path(folder, name));
  return last;
}

// Returns the number of a shard from the name of its folder, "00007".
std::optional<int64_t> shard_of_name(const std::string& name) {
  int64_t shard = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), shard);
  if (failure != std::errc() || end != name.data() + name.size() || shard < 0) return std::nullopt;
  return fmt::format("{:05}", shard) == name ? std::optional(shard) : std::nullopt;
}

// A damaged record of chunks is of no use: no attempt takes over such chunks.
bool has_chunks(const std::string& folder, const StreamIdentity& identity) {
  try {
    return logged_rows(folder, identity).value_or(0) > 0;
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kData || error.exit_code() == ExitCode::kConfig)
      return false;
    throw;
  }
}

class Cleaning {
 public:
  Cleaning(const RunConfig& config, const CleanOptions& options)
      : config_(config),
        options_(options),
        files_(config.store.cache_dir),
        plan_(read_shard_plan(config.store.cache_dir)) {
    require_plan_of(config, plan_);
  }

  CleanReport run();

 private:
  // Calls `clean`, and keeps the folder if it cannot be read.
  template <typename Clean>
  void unless_unreadable(const std::string& folder, const Clean& clean);
  void clean_shard(int64_t shard);
  void clean_one_of(int64_t shard, const std::string& attempt, const std::optional<Part>& part);
  void clean_attempt(int64_t shard, const std::string& attempt);
  void clean_chunks_of_part(int64_t shard, const Part& part);
  void clean_other_shard(int64_t shard);
  void name_other_outputs();
  std::string why_at_work(const std::string& folder) const;
  bool is_of_use(int64_t shard, const std::string& attempt) const;
  bool may_delete(const std::string& folder);
  void take(const std::string& folder, AttemptFiles files);
  void keep(const std::string& path, const std::string& why) {
    report_.kept.push_back({.path = path, .why = why});
  }
  std::string output_folder(const std::string& attempt) const {
    return parent_directory(config_of_attempt(config_, 0, attempt).store.output);
  }

  const RunConfig& config_;
  const CleanOptions& options_;
  const ShardFiles files_;
  const ShardPlan plan_;
  std::set<std::string> attempts_;        // all that the cache directory has
  std::vector<std::string> dry_deleted_;  // the files that a dry run would delete
  CleanReport report_;
};

template <typename Clean>
void Cleaning::unless_unreadable(const std::string& folder, const Clean& clean) {
  try {
    clean();
  } catch (const Error& error) {
    const ErrorDetail& detail = error.detail();
    if (detail.exit_code != ExitCode::kNoPermission && detail.exit_code != ExitCode::kConfig) throw;
    keep(folder, fmt::format("{} ({})", detail.what, detail.where));
  }
}

// Returns why the attempt in the folder may be at work; "" if it has certainly ended, or if nothing
// has changed in its folder for a long time.
std::string Cleaning::why_at_work(const std::string& folder) const {
  RunStatus status;
  status.cache_dir = folder;
  read_run_state(status);
  const LockState& lock = status.lock;
  if (lock.held == LockState::Held::kYes)
    return fmt::format("at work: process {} on {}", lock.pid, preview(lock.host));
  const bool told = status.state == "failed" || status.state == "stopped";
  if (lock.owner_ended || (told && lock.held == LockState::Held::kNo)) return "";
  const int64_t age = std::time(nullptr) - last_change(folder);
  if (age >= options_.older_than_seconds) return "";
  return fmt::format(
      "it may be at work where its lock is not seen: it was changed {} ago, less than --older-than",
      format_duration(static_cast<double>(std::max<int64_t>(0, age))));
}

// Returns true if the next attempt at the shard can go on with something of this attempt.
bool Cleaning::is_of_use(int64_t shard, const std::string& attempt) const {
  const RunConfig own = config_of_attempt(config_, shard, attempt);
  for (size_t i = 0; i < plan_.streams.size(); ++i) {
    const StreamIdentity identity = plan_.identity(i, shard);
    const std::string final = final_path_of(own, identity.name);
    if (has_chunks(own.store.cache_dir, identity)) return true;
    if (final_state(final, identity, /*check_hash=*/false) == FinalState::kValid) return true;
  }
  return false;
}

// Returns true if no attempt is seen at work in the folder of an attempt or of a shard.
bool Cleaning::may_delete(const std::string& folder) {
  const std::string why = why_at_work(folder);
  if (!why.empty()) keep(folder, why);
  return why.empty();
}

void Cleaning::take(const std::string& folder, AttemptFiles files) {
  for (const std::string& path : files.foreign) keep(path, "not a file of encode");
  const bool stays = files.folders.empty() || !files.foreign.empty();
  if (files.files.empty() && stays) return;
  report_.deleted.push_back(folder);
  if (options_.dry_run) {
    dry_deleted_.insert(dry_deleted_.end(), files.files.begin(), files.files.end());
    return;
  }
  report_.freed_bytes += freed_bytes(files.files);
  remove_files(files);
}

// The output goes first: after an interruption the folder of the attempt still names it.
void Cleaning::clean_attempt(int64_t shard, const std::string& attempt) {
  const std::string folder = attempt_folder(files_, shard, attempt);
  if (!is_real_directory(folder)) return keep(folder, "a link, or no folder");
  if (!may_delete(folder)) return;
  if (!config_.store.output.empty()) {
    const std::string name = std::filesystem::path(config_.store.output).filename().string();
    const std::string output = output_folder(attempt);
    if (is_real_directory(parent_directory(output))) take(output, files_of_output(output, name));
  }
  take(folder, files_of_attempt(folder));
}

// An attempt deletes its chunks when it has published its part. An interruption may have left them.
void Cleaning::clean_chunks_of_part(int64_t shard, const Part& part) {
  const std::string folder = attempt_folder(files_, shard, part.attempt);
  if (config_.store.keep_chunk_cache || !is_real_directory(folder)) return;
  for (size_t i = 0; i < plan_.streams.size(); ++i) {
    const std::optional<Manifest> manifest = read_manifest(part.matrices[i].path);
    if (!manifest || manifest->set_aside) return;  // another try at the rows needs the chunks
  }
  AttemptFiles chunks = chunks_of_attempt(folder);
  if (!chunks.folders.empty() && may_delete(folder)) take(folder, std::move(chunks));
}

void Cleaning::clean_shard(int64_t shard) {
  const std::vector<std::string> attempts = attempts_of(files_, shard);
  attempts_.insert(attempts.begin(), attempts.end());
  const std::optional<Part> part = find_part(config_, plan_, shard);
  const LockState lock = read_lock_state(files_.shard(shard));
  if (lock.held == LockState::Held::kYes) {
    if (attempts.size() > (part ? 1U : 0U))
      keep(files_.shard(shard),
           fmt::format("at work: process {} on {}", lock.pid, preview(lock.host)));
    return;
  }
  for (const std::string& attempt : attempts)
    unless_unreadable(attempt_folder(files_, shard, attempt),
                      [&] { clean_one_of(shard, attempt, part); });
}

void Cleaning::clean_one_of(int64_t shard, const std::string& attempt,
                            const std::optional<Part>& part) {
  if (part && attempt == part->attempt) {
    clean_chunks_of_part(shard, *part);
  } else if (part || !is_of_use(shard, attempt)) {
    clean_attempt(shard, attempt);
  } else {
    keep(attempt_folder(files_, shard, attempt), "the next attempt at the shard goes on with it");
  }
}

// A shard of an earlier plan with more shards.
void Cleaning::clean_other_shard(int64_t shard) {
  const size_t kept = report_.kept.size();
  const std::string folder = files_.shard(shard);
  const LockState::Held held = read_lock_state(folder).held;
  const std::vector<std::string> attempts = attempts_of(files_, shard);
  attempts_.insert(attempts.begin(), attempts.end());
  if (held == LockState::Held::kYes) return keep(folder, "an attempt is at work");
  // Another plan may be making the shard at this moment.
  if (held == LockState::Held::kUnknown && !may_delete(folder)) return;
  for (const std::string& attempt : attempts)
    unless_unreadable(attempt_folder(files_, shard, attempt),
                      [&] { clean_attempt(shard, attempt); });
  if (report_.kept.size() > kept) return;
  AttemptFiles own;
  for (const std::string& path : {files_.scan(shard), files_.part(shard), files_.server_lost(shard),
                                  RunFiles(folder).lock()}) {
    if (entry_exists(path, "io.stat")) own.files.push_back(path);
  }
  own.folders.push_back(folder);
  take(folder, std::move(own));
}

// Another cache directory may have made these, and their part may be published there.
void Cleaning::name_other_outputs() {
  if (config_.store.output.empty()) return;
  const std::string parts = parent_directory(output_folder("attempt"));
  if (!is_real_directory(parts)) return;
  for (const std::string& name : list_directory(parts)) {
    if (is_attempt_name(name) && !attempts_.contains(name))
      keep(join_path(parts, name), "no attempt of this cache directory has made it");
  }
}

CleanReport Cleaning::run() {
  const std::string shards = parent_directory(files_.shard(0));
  if (!is_real_directory(shards)) return report_;
  for (const std::string& name : list_directory(shards)) {
    const std::optional<int64_t> shard = shard_of_name(name);
    const std::string folder = join_path(shards, name);
    if (!shard || !is_real_directory(folder)) {
      keep(folder, "not a folder of a shard");
      continue;
    }
    unless_unreadable(folder, [&] {
      if (*shard < plan_.shards) return clean_shard(*shard);
      clean_other_shard(*shard);
    });
  }
  name_other_outputs();
  if (options_.dry_run) report_.freed_bytes = freed_bytes(dry_deleted_);
  return std::move(report_);
}

[[noreturn]] void refuse_without_age(const std::string& cache_dir) {
  throw Error({.code = "store.lock",
               .what = "without locks nothing shows which attempts are at work",
               .where = cache_dir,
               .expected = "--older-than TIME, or a file system with locks",
               .found = "a file system without locks",
               .hint = "name a time for which no attempt at work leaves its folder unchanged: "
                       "--older-than 1d; --dry-run shows what would be deleted"});
}

}  // namespace

CleanReport clean_shards(const RunConfig& config, const CleanOptions& options) {
  std::optional<CacheLock> lock;
  if (!options.dry_run) {
    lock.emplace(CacheLock::acquire(config.store.cache_dir, CacheLock::Need::kIfPossible));
    if (!lock->excludes() && !options.age_given) refuse_without_age(config.store.cache_dir);
  }
  return Cleaning(config, options).run();
}

void log_cleaning(const CleanReport& report, const CleanOptions& options, RunLog& log) {
  const bool dry = options.dry_run;
  for (const std::string& path : report.deleted)
    log.result("attempt_deleted", fmt::format("{} {}\n", dry ? "would delete" : "deleted", path),
               {{"path", path}, {"dry_run", dry}});
  for (const KeptPath& kept : report.kept)
    log.result("attempt_kept", fmt::format("kept {}: {}\n", kept.path, kept.why),
               {{"path", kept.path}, {"why", kept.why}});
  log.result(
      "shards_cleaned",
      fmt::format("{} {}\n", format_bytes(report.freed_bytes), dry ? "would be free" : "freed"),
      {{"freed_bytes", report.freed_bytes}, {"dry_run", dry}});
}

}  // namespace encode
