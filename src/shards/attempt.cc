#include "shards/attempt.h"

#include <filesystem>

#include "encode/error.h"

#include "base/file.h"
#include "run_record/run_paths.h"
#include "shards/quantized_parts.h"
#include "store/attempt_folders.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/run_files.h"
#include "supervisor/worker/fault_memory.h"

namespace encode {
namespace {

// Copies what earlier attempts have learned about failures, so that a row that kills workers does
// not kill the workers of this attempt again.
void inherit_faults(const std::vector<std::string>& earlier, const std::string& cache_dir,
                    const Shard& shard) {
  std::vector<StreamIdentity> streams;
  for (size_t i = 0; i < shard.plan.streams.size(); ++i)
    streams.push_back(shard.plan.identity(i, shard.index));
  FaultMemory memory(RunFiles(cache_dir).attempts());
  for (const StreamIdentity& stream : streams) memory.bind(stream.name, stream.fingerprint);
  for (const std::string& other : earlier) {
    FaultMemory found(RunFiles(other).attempts());
    for (const StreamIdentity& stream : streams) {
      found.bind(stream.name, stream.fingerprint);
      memory.inherit(stream.name, found.of(stream.name));
    }
  }
  memory.save();
}

// Hashing the files of a large model again takes minutes on a network file system.
void copy_model_hashes(const std::string& from, const std::string& to) {
  constexpr int64_t kMostBytes = int64_t{16} << 20;
  try {
    const std::string hashes = read_file(RunFiles(from).model_hashes(), kMostBytes, "io.read");
    write_file_without_sync(RunFiles(to).model_hashes(), hashes);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the files are hashed then
  }
}

// Throws if something cannot be read. Damage is no reason: it costs only what is damaged.
void read_attempt(const RunConfig& own, const Shard& shard) {
  const auto reading = [](const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::kData && error.exit_code() != ExitCode::kNoInput) throw;
    }
  };
  list_directory(own.store.cache_dir);
  for (size_t i = 0; i < shard.plan.streams.size(); ++i) {
    const StreamIdentity identity = shard.plan.identity(i, shard.index);
    reading([&] { logged_rows(own.store.cache_dir, identity); });
    reading(
        [&] { final_state(final_path_of(own, identity.name), identity, /*check_hash=*/false); });
  }
}

}  // namespace

std::string attempt_folder(const ShardFiles& files, int64_t shard, const std::string& attempt) {
  return join_path(files.shard(shard), attempt);
}

std::vector<std::string> attempts_of(const ShardFiles& files, int64_t shard) {
  std::vector<std::string> names = list_directory(files.shard(shard));
  std::erase_if(names, [](const std::string& name) { return !is_attempt_name(name); });
  return names;
}

std::vector<std::string> readable_attempts(
    const RunConfig& config, const Shard& shard, const std::vector<std::string>& attempts,
    const std::function<void(const std::string&, const ErrorDetail&)>& left_out) {
  std::vector<std::string> readable;
  for (const std::string& attempt : attempts) {
    try {
      read_attempt(config_of_attempt(config, shard.index, attempt), shard);
      readable.push_back(attempt);
    } catch (const Error& error) {
      left_out(attempt, error.detail());
    }
  }
  return readable;
}

std::string begin_attempt(const ShardFiles& files, int64_t shard) {
  std::string name = new_attempt_name();
  create_directories_durably(attempt_folder(files, shard, name));
  return name;
}

RunConfig config_of_attempt(const RunConfig& config, int64_t shard, const std::string& attempt) {
  RunConfig own = config;
  own.store.cache_dir = attempt_folder(ShardFiles(config.store.cache_dir), shard, attempt);
  own.store.keep_chunk_cache = true;  // until the part is published: the next attempt needs them
  if (quantizes_at_merge(config)) {
    own.store.final_format.type = OutputType::kFloat32;
    own.combine.clear();
  }
  if (config.store.output.empty()) return own;
  const std::string parts =
      join_path(join_path(parent_directory(config.store.output), ".parts"), attempt);
  own.store.output =
      join_path(parts, std::filesystem::path(config.store.output).filename().string());
  return own;
}

int64_t adopt_attempts(const RunConfig& config, const Shard& shard,
                       const std::vector<std::string>& earlier, const std::string& attempt) {
  const std::string own = config_of_attempt(config, shard.index, attempt).store.cache_dir;
  std::vector<std::string> others;
  for (const std::string& name : earlier)
    others.push_back(config_of_attempt(config, shard.index, name).store.cache_dir);
  copy_model_hashes(config.store.cache_dir, own);
  inherit_faults(others, own, shard);
  int64_t chunks = 0;
  for (size_t i = 0; i < shard.plan.streams.size(); ++i)
    chunks += adopt_chunks(others, own, shard.plan.identity(i, shard.index));
  return chunks;
}

}  // namespace encode
