// The limits that a shell or a scheduler has set for this process (setrlimit(2), `ulimit`). Any
// thread may call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "encode/error.h"

namespace encode {

// `resource` is a constant of setrlimit(2), such as RLIMIT_NOFILE. Returns nullopt if the process
// has no such limit.
std::optional<int64_t> process_limit(int resource);

// Returns true if the process may not use all memory of the machine (`ulimit -v`, `ulimit -d`). A
// process that ran out of memory would then fail in the same way again.
bool memory_is_limited();

// Makes the error kOsError "os.memory" of a process that ran out of memory while its memory was
// limited. `expected` says for what it needed memory. Throws no Error.
ErrorDetail out_of_limited_memory(std::string where, std::string expected, std::string found);

// Throws Error kOsError "os.stack" if the stack is too small for the program (`ulimit -s`): a stack
// that overflows ends the process by a signal. Throws "os.open_files" if the process may not open
// the files and pipes that a run on one device needs (`ulimit -n`), so that every command refuses
// such a limit at its start.
void require_process_limits();

}  // namespace encode
