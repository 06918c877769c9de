// The files of an attempt, as `encode shards clean` deletes them. Only files with a name that a run
// gives count; all others stay. No link is followed. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace encode {

struct AttemptFiles {
  std::vector<std::string> files = {};    // in the order of deletion; LOCK is the last one
  std::vector<std::string> folders = {};  // innermost first: each can be removed after those before
  std::vector<std::string> foreign = {};  // entries that no run has made
};

// Lists the cache directory of an attempt. Throws what list_directory() throws, and Error kIoError
// and kNoPermission.
AttemptFiles files_of_attempt(const std::string& folder);
// Lists only the folders of chunks in it.
AttemptFiles chunks_of_attempt(const std::string& folder);
// Lists the folder <output>/.parts/<attempt>, which has the files of the matrix `output_name`.
// Empty if there is no such folder.
AttemptFiles files_of_output(const std::string& folder, const std::string& output_name);

// Deletes the files and the folders that are then empty. Throws Error kIoError, kNoPermission.
void remove_files(const AttemptFiles& files);

// Returns true if the path is a directory itself, and no link to one. Throws Error "io.stat".
bool is_real_directory(const std::string& path);

// Returns how many bytes the deletion of all these files together frees. A file that has another
// name elsewhere frees nothing. Files that are gone count nothing.
int64_t freed_bytes(const std::vector<std::string>& files);

}  // namespace encode
