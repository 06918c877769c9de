// Tests whether a run can write its files to a directory. Errors name the directory. If its disk is
// full, the Error is kIoError "limit.disk". Any thread may call these functions.
#pragma once

#include <set>
#include <string>

namespace encode {

// Creates, locks and deletes an empty temporary file in the directory, which must exist. A later
// run deletes the file if this process is killed. Throws Error "io.create", "store.lock",
// "io.remove".
void probe_creation(const std::string& directory);

// Creates a temporary file in `directory`, or in the directory above it in which a run would create
// it, and writes, syncs, renames and deletes the file, as a run does with its files. Adds the
// existing directory to `tried`; does nothing if `tried` has it already. Throws Error for the step
// that fails: "io.mkdir", "io.create", "io.write", "io.sync", "io.commit", "io.remove".
void probe_once(const std::string& directory, std::set<std::string>& tried);

}  // namespace encode
