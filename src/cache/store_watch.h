// Notices if a step on the store of the embedding cache does not end: another process that is
// paused (Ctrl-Z, `docker pause`) may hold a lock of LMDB for ever, and a disk may not answer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "encode/error.h"

#include "cache/folder.h"

namespace encode {

// Called with Error kTempFail "cache.stalled" on a thread of its own. It must end the process,
// because a thread that is stuck in LMDB cannot be released.
using StoreStalled = std::function<void(const Error&)>;

// Prints the error, and ends the process with its exit code.
void end_stalled_process(const Error& error);

// Thread-safe.
class StoreWatch {
 public:
  static constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(30);

  // Calls `stalled` if a step makes no progress for the time `patience`. The time in which this
  // process itself is paused does not count. Throws std::system_error if the system refuses a
  // thread.
  StoreWatch(const CacheFolder& folder, StoreStalled stalled,
             std::chrono::milliseconds patience = kPatience);
  StoreWatch(const StoreWatch&) = delete;
  StoreWatch& operator=(const StoreWatch&) = delete;
  ~StoreWatch();

  // A step, from its construction to its end.
  class Step {
   public:
    // `action` is a verb for the message "none while this process ...". If the result of `progress`
    // changes, the step makes progress. The watch calls `progress` on its own thread.
    Step(StoreWatch& watch, const char* action, std::function<int64_t()> progress = {});
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step();

   private:
    friend class StoreWatch;
    StoreWatch& watch_;
    const char* const action_;
    const std::function<int64_t()> progress_;
    // StoreWatch::mutex_ guards these two members.
    int64_t seen_ = 0;  // the last result of progress_
    int looks_ = 0;     // the number of looks since the last progress
  };

 private:
  void watch();
  const Step* stalled_step();

  static constexpr int kLooks = 30;  // the number of looks within the patience
  const std::string dir_;
  const StoreStalled stalled_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;  // mutex_ guards stopping_ and steps_
  std::vector<Step*> steps_;
  std::thread thread_;
};

}  // namespace encode
