// Counts the processes that the kernel has killed for lack of host memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace encode {

struct OomKills {
  int64_t count = 0;
  std::string source;  // the file that has the count
  // True: no control group counts for this process, so the count is of the whole machine, and a
  // kill may have hit a process of another program.
  bool whole_machine = false;
};

// Reads the count of the control group of this process: "oom_kill" in memory.events (v2) or in
// memory.oom_control (v1). The nearest group that has such a file counts. If there is none, reads
// "oom_kill" in /proc/vmstat. Returns nullopt if the kernel has none of these counts. `root` is put
// before every path; a test names a folder with copies. Any thread may call it. Throws no Error.
std::optional<OomKills> oom_kills(const std::string& root = "");

}  // namespace encode
