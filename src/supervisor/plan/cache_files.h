// The files that a run keeps in its cache directory, apart from the chunks and the finals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace encode {

// A file that is written and deleted to time a commit, and its content.
inline constexpr std::string_view kCommitProbe = "commit_probe";
inline constexpr std::string_view kCommitProbeText = "encode times a commit with this file\n";
// Returns the name of the file with the job of a worker: "job.json" for worker 0, "job.1.json".
std::string job_file_name(size_t worker);

// Returns true if a directory has a file of this name only because it is a cache directory (it has
// the file LOCK) or a folder of chunks. A final matrix is not such a file.
bool is_store_file(const std::string& directory, const std::string& name);

// Throws Error kCantCreate "output.exists" if the cache directory has a file under the name of one
// of the run's own files (job.json, status.json, ...) that encode did not write, or something that
// is not a regular file. The process must hold the CacheLock.
void check_cache_files(const std::string& cache_dir);

// Deletes the temporary files that killed runs left in the cache directory, if they have the names
// of the run's own files. The process must hold the CacheLock. Throws Error kIoError.
void sweep_cache_files(const std::string& cache_dir);

}  // namespace encode
