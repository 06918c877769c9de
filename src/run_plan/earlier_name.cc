#include "run_plan/earlier_name.h"

#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "store/audit.h"

namespace encode {
namespace {

// Returns true if the folder has chunks of exactly this stream.
bool has_own_chunks(const std::string& cache_dir, const StreamPlan& stream) {
  try {
    return committed_rows(cache_dir, stream.identity).value_or(0) > 0;
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kConfig || error.exit_code() == ExitCode::kData)
      return false;
    throw;
  }
}

bool has_own_final(const StreamPlan& stream) {
  try {
    return final_state(stream.final_path, stream.identity, /*check_hash=*/false) ==
           FinalState::kValid;
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kConfig) return false;  // chunks of another version
    throw;
  }
}

}  // namespace

bool take_earlier_name(const RunConfig& config, StreamPlan& stream) {
  const std::string& cache_dir = config.store.cache_dir;
  const bool single = stream.config.split.empty() && config.store.output.empty();
  if (!single || stream.identity.name == kEarlierStreamName) return false;
  const bool new_result =
      entry_exists(chunks_dir(cache_dir, stream.identity.name), "store.stream") ||
      entry_exists(stream.final_path, "store.final");
  if (new_result) return false;
  StreamPlan earlier = stream;
  earlier.config.stream = earlier.identity.name = kEarlierStreamName;
  earlier.final_path = final_path_of(config, kEarlierStreamName);
  if (!foreign_final_file(earlier.final_path).empty()) return false;  // would overwrite it
  if (!has_own_final(earlier) && !has_own_chunks(cache_dir, earlier)) return false;
  stream = std::move(earlier);
  return true;
}

}  // namespace encode
