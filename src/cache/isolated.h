// Runs a piece of work in a child process, for work that may end the process by a signal.
#pragma once

#include <functional>
#include <string>

namespace encode {

// Calls `work` in a child process and returns what it returns. Throws the Error that `work` throws,
// and Error kData "cache.damaged" about the cache in `dir` if the child ended in another way: LMDB
// follows references in its file without a check, so a damaged file can end a process that reads
// it. The caller must have no other thread, and must hold no lock that `work` needs.
std::string run_isolated(const std::string& dir, const std::function<std::string()>& work);

}  // namespace encode
