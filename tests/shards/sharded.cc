#include "shards/sharded.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/file.h"
#include "shards/join_shards.h"
#include "shards/merge.h"
#include "shards/plan_shards.h"
#include "shards/run_shard.h"
#include "store/verify/verify.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNpyHeader = 128;

ErrorDetail call(const std::function<void(Terminal&, Terminal&)>& work) {
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Terminal err(null.get());
  Terminal out(null.get());
  try {
    work(err, out);
    return {};
  } catch (const Error& error) {
    return error.detail();
  }
}

}  // namespace

Sharded::Sharded() {
  config.combine.push_back({.split = "train", .streams = {"tc", "commit"}});
  config.log.progress = false;
}

ErrorDetail Sharded::plan(int64_t shards, const std::string& gpu) {
  return call([&](Terminal& err, Terminal& out) {
    plan_shards(config, {.count = shards, .gpu = gpu}, err, out);
  });
}

ExtendedPlan Sharded::extend(ErrorDetail* error) {
  ExtendedPlan plan;
  const ErrorDetail found =
      call([&](Terminal& err, Terminal& out) { plan = extend_shards(config, err, out); });
  if (error != nullptr) {
    *error = found;
  } else if (found.code) {
    throw Error(found);
  }
  return plan;
}

ErrorDetail Sharded::run_shard(int64_t shard, const std::string& misdeed) {
  if (!misdeed.empty()) ::setenv("FAKE_WORKER", misdeed.c_str(), 1);
  ErrorDetail error = call([&](Terminal& err, Terminal& out) {
    encode::run_shard({.experiment = config, .index = shard}, environment, err, out);
  });
  ::unsetenv("FAKE_WORKER");
  return error;
}

void Sharded::encode(int64_t shards) {
  const ErrorDetail planned = plan(shards);
  ASSERT_FALSE(planned.code) << render(planned);
  for (int64_t shard = 0; shard < shards; ++shard) {
    const ErrorDetail error = run_shard(shard);
    ASSERT_FALSE(error.code) << shard << render(error);
  }
}

void Sharded::damage_part(int64_t shard) const {
  const std::string matrix = attempts(shard).front() + "/train_tc_embeddings.npy";
  std::string bytes = read_bytes(matrix);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(matrix, bytes);
}

ErrorDetail Sharded::merge() {
  return call([&](Terminal& err, Terminal& out) { merge_shards(config, err, out); });
}

ErrorDetail Sharded::join() {
  return call([&](Terminal& err, Terminal& out) { join_shards(config, err, out); });
}

pid_t Sharded::start(int64_t shard, int slow_ms) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setenv("FAKE_WORKER_SLOW_MS", fmt::to_string(slow_ms).c_str(), 1);
  const ErrorDetail error = run_shard(shard);
  ::_exit(error.code ? static_cast<int>(error.exit_code) : 0);
}

std::vector<std::string> Sharded::merged() const {
  std::vector<std::string> matrices;
  for (const std::string& name : kNames) {
    std::string& rows = matrices.emplace_back();
    for (const PartsList::Entry& part : list(name).parts)
      rows += read_bytes(cache(part.file)).substr(kNpyHeader);
  }
  return matrices;
}

PartsList Sharded::list(const std::string& name) const {
  return read_parts_list(cache(name + "_embeddings.parts.json"));
}

std::vector<std::string> Sharded::attempts(int64_t shard) const {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(cache(fmt::format("shards/{:05}", shard)))) {
    if (entry.path().filename().string().starts_with("attempt-"))
      paths.push_back(entry.path().string());
  }
  return paths;
}

int64_t Sharded::encoded_chunks() const {
  int64_t chunks = 0;
  for (const auto& entry : fs::recursive_directory_iterator(cache("shards"))) {
    if (entry.path().filename() != "encoded_chunks") continue;
    const std::string lines = read_bytes(entry.path().string());
    chunks += std::count(lines.begin(), lines.end(), '\n');
  }
  return chunks;
}

const std::vector<std::string>& undivided() {
  static const std::vector<std::string> matrices = [] {
    Sharded experiment;
    const RunResult result = experiment.run();
    if (result.exit_code != ExitCode::kOk) throw Error(result.error);
    std::vector<std::string> rows;
    for (const std::string& name : kNames)
      rows.push_back(read_bytes(experiment.cache(name + "_embeddings.npy")).substr(kNpyHeader));
    return rows;
  }();
  return matrices;
}

ExitCode verified(const std::string& list) { return verify_files({list}, {}).exit_code(); }

}  // namespace encode::testing
