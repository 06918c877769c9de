#include "cache/store_watch.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "base/units.h"

namespace encode {

void end_stalled_process(const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  ::_exit(static_cast<int>(error.exit_code()));
}

StoreWatch::StoreWatch(const CacheFolder& folder, StoreStalled stalled,
                       std::chrono::milliseconds patience)
    : dir_(folder.path),
      stalled_(std::move(stalled)),
      patience_(patience),
      thread_([this] { watch(); }) {}

StoreWatch::~StoreWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_one();
  thread_.join();
}

StoreWatch::Step::Step(StoreWatch& watch, const char* action, std::function<int64_t()> progress)
    : watch_(watch), action_(action), progress_(std::move(progress)) {
  const std::lock_guard lock(watch_.mutex_);
  watch_.steps_.push_back(this);
}

StoreWatch::Step::~Step() {
  const std::lock_guard lock(watch_.mutex_);
  std::erase(watch_.steps_, this);
}

// Counts looks instead of measuring time: while the process is stopped (SIGSTOP), there are no
// looks, so this time does not count.
void StoreWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, patience_ / kLooks, [this] { return stopping_; })) {
    const Step* const step = stalled_step();
    if (step == nullptr) continue;
    const std::string patience = format_duration(std::chrono::duration<double>(patience_).count());
    stalled_(Error({.code = "cache.stalled",
                    .what = "the embedding cache does not answer",
                    .where = dir_,
                    .expected = "progress within " + patience,
                    .found = fmt::format("none while this process {}; another process may hold a "
                                         "lock of the cache and stand still, or the disk is stuck",
                                         step->action_),
                    .hint = fmt::format("see who uses it with: fuser -v {}/lock.mdb; end a process "
                                        "whose state is T, or do without the cache",
                                        dir_)}));
  }
}

const StoreWatch::Step* StoreWatch::stalled_step() {
  for (Step* step : steps_) {
    const int64_t progress = step->progress_ ? step->progress_() : 0;
    step->looks_ = progress == step->seen_ ? step->looks_ + 1 : 0;
    step->seen_ = progress;
    if (step->looks_ >= kLooks) return step;
  }
  return nullptr;
}

}  // namespace encode
