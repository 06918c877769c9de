// Finds the control groups (cgroup v1 and v2) of this process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace encode {

// Any thread may call these functions. They throw no Error. `root` is put before every path: "" for
// the real files; a test names a folder with copies.

// Calls `visit` with the directory of the process's own group and of every group above it, because
// each group may set a limit. In a container, the walk often ends at the group of the container,
// because that group is the root of the mount. `controller` is the name of a v1 controller
// ("memory"), or "" for the unified hierarchy (v2).
void visit_cgroups(const std::string& root, const std::string& controller,
                   const std::function<void(const std::string& directory)>& visit);

// Returns the first line of a file, without the newline; nullopt if there is none.
std::optional<std::string> read_first_line(const std::string& path);
// Returns the boot id, which the kernel chooses anew at each start; "" if the kernel does not offer
// it.
std::string boot_id();
// Returns the number in the first line; nullopt if there is none, or for "max".
std::optional<int64_t> read_integer(const std::string& path);
// Returns the number after "<key> " at the beginning of a line of the file; nullopt if there is
// none.
std::optional<int64_t> read_keyed_integer(const std::string& path, const std::string& key);

}  // namespace encode
