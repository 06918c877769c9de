// Decides which files of a cache directory encode has written and may remove. One thread at a time
// may call these functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace encode {

// Returns true if a directory has a file of this name only because it is a cache directory (it has
// the file LOCK) or a folder of chunks. A final matrix is not such a file.
bool is_store_file(const std::string& directory, const std::string& name);

// Throws Error kCantCreate "output.exists" if the cache directory has a file that encode did not
// write, or an entry that is not a regular file, under the name of one of the run's own files
// (job.json, status.json, ...). The process must hold the CacheLock.
void check_cache_files(const std::string& cache_dir);

// Returns true if the bytes begin with a time, as every log of a run does.
bool begins_like_log(std::string_view head);

// Deletes the files of encode in the cache directory of a run with the stream `stream`, including
// the chunks, then the file LOCK, and at last the directory if it is empty. The copy of standard
// input stays, because the manifest names it as the input. Returns the names of the other entries
// that stay, because encode did not write them. If the process is killed in between, LOCK is still
// there, and the next call goes on. The process must hold the CacheLock, and its workers must have
// ended. Throws Error kIoError or kNoPermission.
std::vector<std::string> remove_cache_directory(const std::string& cache_dir,
                                                const std::string& stream);

// Returns the directory and those above it that do not exist, the innermost first. Throws no Error.
std::vector<std::string> absent_directories(const std::string& directory);

// Returns true if the directory has nothing but the lock, the log and other records of a run: no
// chunks, no list of rejected rows and no copy of standard input. Throws Error kIoError or
// kNoPermission.
bool has_only_records(const std::string& cache_dir);

// Removes the directories in this order, and stops at the first one that cannot be removed because
// it is not empty. Skips absent ones. Throws no Error.
void remove_empty_directories(const std::vector<std::string>& innermost_first);

// Deletes the temporary files that killed runs left in the cache directory, if they have the names
// of the run's own files. The process must hold the CacheLock. Throws Error kIoError.
void sweep_cache_files(const std::string& cache_dir);

}  // namespace encode
