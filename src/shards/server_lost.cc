#include "shards/server_lost.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "encode/store.h"

#include "base/file.h"
#include "base/json.h"
#include "shards/attempt.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kLossFormat = 1;

// Returns whether the server is the cause: it did not answer, or a file in `folder`, which the
// shard has made, is gone.
bool is_loss(const ErrorDetail& detail, const std::string& folder) {
  if (detail.error_number == ENOENT) return detail.where.starts_with(folder + "/");
  return detail.error_number != 0 &&
         exit_code_for_errno(static_cast<int>(detail.error_number)) == ExitCode::kTempFail;
}

// Returns the most rows that an attempt has committed. A new attempt begins with the chunks of all
// earlier ones, so this grows with every commit.
int64_t committed(const RunConfig& config, const Shard& shard) {
  const ShardFiles files(config.store.cache_dir);
  int64_t most = 0;
  for (const std::string& attempt : attempts_of(files, shard.index)) {
    int64_t rows = 0;
    for (size_t i = 0; i < shard.plan.streams.size(); ++i) {
      const std::string folder = attempt_folder(files, shard.index, attempt);
      rows += logged_rows(folder, shard.plan.identity(i, shard.index)).value_or(0);
    }
    most = std::max(most, rows);
  }
  return most;
}

// Returns how many rows were committed when the server was lost before; nullopt if it was not, or
// if the record is damaged or of another plan.
std::optional<int64_t> committed_before(const std::string& path, const ShardPlan& plan) {
  if (!entry_exists(path, "io.read")) return std::nullopt;
  try {
    const SealedFile file = unseal_file(path, kMaxSealedBytes, "io.read");
    const JsonFields fields(file.object, path, "store.damaged");
    fields.integer("format", kLossFormat, kLossFormat);
    if (fields.string("plan") != plan.checksum) return std::nullopt;
    return fields.integer("rows", 0, kMaxInteger);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kData) throw;
    return std::nullopt;
  }
}

}  // namespace

void end_after_second_loss(const RunConfig& config, const Shard& shard, ErrorDetail& detail) {
  const ShardFiles files(config.store.cache_dir);
  if (!is_loss(detail, files.shard(shard.index))) return;
  detail.exit_code = ExitCode::kTempFail;
  const std::string path = files.server_lost(shard.index);
  try {
    const int64_t rows = committed(config, shard);
    const std::optional<int64_t> before = committed_before(path, shard.plan);
    if (!before || *before < rows) {
      write_file_without_sync(
          path,
          seal({{"format", kLossFormat}, {"plan", shard.plan.checksum}, {"rows", rows}}) + "\n");
      return;
    }
    detail.exit_code = ExitCode::kIoError;
    detail.hint =
        "this is the second such error in succession, and no row was saved in between: check the "
        "server and the mount of the file system, then run the same command again";
    remove_file(path);      // a person has been told, so the count begins again
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the server may be away
  }
}

void forget_loss(const RunConfig& config, int64_t shard) {
  try {
    const std::string path = ShardFiles(config.store.cache_dir).server_lost(shard);
    if (entry_exists(path, "io.read")) remove_file(path);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the shard is encoded all the same
  }
}

}  // namespace encode
