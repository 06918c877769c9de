// The directories of runs that do not work in the cache directory itself, because processes may
// write there whose locks are not seen (docs/reliability.md). Each such run is an attempt with a
// directory of its own, to which no other process writes. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace encode {

// Returns true for a name that new_attempt_name() may have made.
bool is_attempt_name(std::string_view name);
std::string new_attempt_name();  // "attempt-0123456789abcdef", random

std::string attempts_dir(const std::string& cache_dir);  // <cache>/attempts
// Where attempts make the matrix of `encode run --output`: "a/.x.npy.attempts" for "a/x.npy". It is
// on the file system of the output, so that the matrix can be renamed.
std::string attempts_dir_of_output(const std::string& output);

// Returns the paths of the attempts in one of these directories, sorted; none if it does not exist.
// Throws what list_directory() throws.
std::vector<std::string> attempts_in(const std::string& directory);

// Returns the directories that may have chunks for a new attempt: the other attempts, the newest
// first, and then the cache directory. Throws what list_directory() throws.
std::vector<std::string> earlier_runs(const std::string& cache_dir, const std::string& attempt);

// As adopt_chunks(), for the stream of this name in the first of the directories that has chunks of
// the name, whatever its identity is. ChunkStore::open() tells whether it is the wanted one.
int64_t adopt_chunks_of_any(const std::vector<std::string>& from, const std::string& to,
                            const std::string& stream_name);

// Returns the directory with the records of the last run of a cache directory: an attempt that was
// not finished, or the cache directory itself. It compares the times of files, so two runs at once
// may hide each other; it is for people. Throws no Error.
std::string current_run_dir(const std::string& cache_dir);

}  // namespace encode
