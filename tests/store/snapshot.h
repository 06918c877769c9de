// The bytes of every file in a folder, to damage them and to put them back.
#pragma once

#include <map>
#include <string>

namespace encode::testing {

using Snapshot = std::map<std::string, std::string>;  // path under the folder -> content

Snapshot take_snapshot(const std::string& directory);
// Afterwards the folder holds the snapshot and nothing else.
void restore_snapshot(const std::string& directory, const Snapshot& snapshot);

}  // namespace encode::testing
