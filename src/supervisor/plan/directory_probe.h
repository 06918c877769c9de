// Tries whether a run can write its files to a directory.
#pragma once

#include <string>

namespace encode {

// Creates, locks and deletes an empty temporary file in the directory, which must exist. A later
// run deletes the file if this process is killed. Throws Error "io.create", "store.lock",
// "io.remove".
void probe_creation(const std::string& directory);

// Creates a temporary file in the directory, and writes, syncs, renames and deletes it, as a run
// does with its files. Throws Error for the step that fails: "io.create", "io.write", "io.sync",
// "io.commit", "io.remove".
void probe_writing(const std::string& directory);

// Throws the Error with which a run could not publish a file at `path`: its directory cannot be
// created, or the file cannot be written there.
void probe_output(const std::string& path);

}  // namespace encode
