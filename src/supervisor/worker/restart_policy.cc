#include "supervisor/worker/restart_policy.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <utility>

#include "base/json.h"

namespace encode {
namespace {

constexpr double kMaxDelaySeconds = 60;

}  // namespace

AttemptLog::AttemptLog(std::string path) : path_(std::move(path)) {
  std::error_code ignored;
  if (path_.empty() || !std::filesystem::exists(path_, ignored)) return;
  try {
    const Json document = read_json_file(path_, {}, "attempts");
    for (const auto& [stream, entry] : document.items()) {
      const JsonFields fields(entry, path_, "attempts");
      streams_[stream] = {fields.integer("chunk", 0, INT64_MAX),
                          fields.integer("failures", 0, 1000)};
    }
  } catch (const Error&) {
    streams_.clear();
  }
}

int64_t AttemptLog::failed(const std::string& stream, int64_t chunk) {
  Attempts& attempts = streams_[stream];
  if (attempts.chunk != chunk) attempts = {.chunk = chunk, .failures = 0};
  ++attempts.failures;
  save();
  return streams_[stream].failures;
}

void AttemptLog::forget(const std::string& stream) {
  if (streams_.erase(stream) > 0) save();
}

std::optional<int64_t> AttemptLog::chunk(const std::string& stream) const {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return std::nullopt;
  return found->second.chunk;
}

void AttemptLog::save() const {
  if (path_.empty()) return;
  Json document = Json::object();
  for (const auto& [stream, attempts] : streams_) {
    document[stream] = {{"chunk", attempts.chunk}, {"failures", attempts.failures}};
  }
  const std::string temp = path_ + ".tmp";
  std::ofstream(temp, std::ios::trunc)
      << document.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  std::error_code ignored;
  std::filesystem::rename(temp, path_, ignored);
}

void RestartPolicy::progressed(const std::string& stream) {
  restarts_ = 0;
  attempts_.forget(stream);
}

int64_t RestartPolicy::alone_below(const std::string& stream) const {
  const std::optional<int64_t> failed = attempts_.chunk(stream);
  return failed ? *failed + 1 : 0;
}

double RestartPolicy::restart_delay(const Failure& failure) {
  if (!failure.stream.empty() &&
      attempts_.failed(failure.stream, failure.chunk) >= kMaxChunkFailures) {
    attempts_.forget(failure.stream);
    throw Error({.exit_code = ExitCode::kInternal,
                 .code = "worker.poison_chunk",
                 .what = fmt::format("{} failed {} times", failure.chunk_name, kMaxChunkFailures),
                 .where = failure.cause.where,
                 .expected = "a chunk that a worker completes",
                 .found = failure.cause.what +
                          (failure.cause.found.empty() ? "" : "\n" + failure.cause.found),
                 .hint = "look at these rows of the input; all other committed chunks are kept"});
  }
  if (restarts_ >= max_restarts_) {
    ErrorDetail detail = failure.cause;
    detail.what += fmt::format(" (gave up after {} restarts without progress)", restarts_);
    throw Error(std::move(detail));
  }
  const double delay = first_delay_seconds_ * std::exp2(static_cast<double>(restarts_));
  ++restarts_;
  return std::min(delay, kMaxDelaySeconds);
}

}  // namespace encode
