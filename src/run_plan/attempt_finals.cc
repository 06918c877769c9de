#include "run_plan/attempt_finals.h"

#include <chrono>
#include <fmt/format.h>
#include <thread>

#include "encode/error.h"

#include "base/units.h"
#include "run_record/run_paths.h"

namespace encode {
namespace {

// How long a run waits for another one that has begun to publish.
constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kRetryInterval = std::chrono::milliseconds(50);

}  // namespace

void AttemptFinals::look_at(const std::string& final_path) {
  if (active()) seen_[final_path] = look_at_final(final_path);
}

bool AttemptFinals::replaces(const std::string& final_path) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return active() && (options_.fresh || replaced_.contains(final_path)) &&
         !published_.contains(final_path);
}

void AttemptFinals::publish(const std::string& final_path, const std::function<bool()>& is_wanted) {
  if (!active()) return;
  const std::string work = work_path_of(options_, final_path);
  if (!move_final(work, final_path, seen_.at(final_path))) accept_other(final_path, is_wanted);
  const std::lock_guard<std::mutex> guard(mutex_);
  published_.insert(final_path);
}

void AttemptFinals::accept_other(const std::string& final_path,
                                 const std::function<bool()>& is_wanted) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!is_wanted()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      throw Error({.code = "store.taken",
                   .exit_code = ExitCode::kTempFail,
                   .what = "another run has published this output, or has begun to",
                   .where = final_path,
                   .expected = "what was there when this run began, or the matrix of this run",
                   .found = "something else",
                   .hint = "run the same command again when that run has ended: it keeps what is "
                           "there, or publishes the output"});
    }
    std::this_thread::sleep_for(kRetryInterval);
  }
  remove_attempt_final(work_path_of(options_, final_path));
  log_.info("published_by_another",
            fmt::format("{}: another run has published this matrix; it is kept",
                        preview(final_path, 300)),
            {{"path", final_path}});
}

}  // namespace encode
