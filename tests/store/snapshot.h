// Saves and restores the bytes of every file in a folder.
#pragma once

#include <map>
#include <string>

namespace encode::testing {

using Snapshot = std::map<std::string, std::string>;  // path under the folder -> content

Snapshot take_snapshot(const std::string& directory);
// Makes the folder hold the files of the snapshot and no other files.
void restore_snapshot(const std::string& directory, const Snapshot& snapshot);

}  // namespace encode::testing
