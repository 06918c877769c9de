// The limits that a shell or a scheduler has set for this process (setrlimit(2), `ulimit`). Any
// thread may call these functions.
#pragma once

#include <cstdint>
#include <optional>

namespace encode {

// `resource` is a constant of setrlimit(2), such as RLIMIT_NOFILE. Returns nullopt if the process
// has no such limit.
std::optional<int64_t> process_limit(int resource);

// Returns true if the process may not use all memory of the machine (`ulimit -v`, `ulimit -d`). A
// process that ran out of memory would then fail in the same way again.
bool memory_is_limited();

// Throws Error kOsError "os.stack" if the stack is too small for the program (`ulimit -s`): a stack
// that overflows ends the process by a signal.
void require_stack();

}  // namespace encode
