// Runs a piece of work in a child process, for work that may end the process by a signal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cache/store_watch.h"

namespace encode {

// The memory limit of the child. A change of the store needs at most half of it. Mapped files do
// not count.
inline constexpr int64_t kIsolatedBytes = int64_t{1} << 30;

// Calls `work` in a child process and returns what it returns. Throws the Error that `work` throws
// or gives to the function that it gets (see StoreWatch), Error kTempFail "cache.killed" if the
// child was killed, and Error kData "cache.damaged" about the cache in `dir` if it ended in another
// way: LMDB follows references in its file without a check, so a damaged file can end a process
// that reads it. The caller must have no other thread, and must hold no lock that `work` needs.
//
// The child dies with this process, makes no core file and takes at most kIsolatedBytes of memory.
using IsolatedWork = std::function<std::string(const StoreStalled& stalled)>;
std::string run_isolated(const std::string& dir, const IsolatedWork& work);

}  // namespace encode
