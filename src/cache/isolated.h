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

// The work. It must give `stalled` to the functions of the cache; see StoreWatch.
using IsolatedWork = std::function<std::string(const StoreStalled& stalled)>;

// Calls `work` in a child process and returns what it returns. The caller must have no other
// thread, and must hold no lock that `work` needs. Throws:
// - the Error that `work` throws or passes to `stalled`,
// - Error kTempFail "cache.killed" if the child was killed (SIGKILL),
// - Error kData "cache.damaged" for the cache in `dir` if the child ended in another way: LMDB
//   follows references in its file without a check, so a damaged file can end the process.
//
// The child dies with this process, makes no core file and takes at most kIsolatedBytes of memory.
std::string run_isolated(const std::string& dir, const IsolatedWork& work);

}  // namespace encode
