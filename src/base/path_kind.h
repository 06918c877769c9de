// Finds out whether a path exists. A failure of the file system does not count as absence: a
// program that takes an existing file for absent may compute other results.
#pragma once

#include <string>

#include "encode/error_code.h"

namespace encode {

enum class PathKind { kAbsent, kFile, kDirectory, kOther };

// Returns what the path leads to. Follows symbolic links; a link to nothing is kAbsent. Only ENOENT
// and ENOTDIR mean kAbsent. Any other failure (EIO, EACCES, ELOOP, ESTALE, ..) throws Error `code`
// with the exit code of exit_code_for_errno(). Any number of threads may call it.
PathKind path_kind(const std::string& path, ErrorCode code);

// Returns true unless path_kind() is kAbsent. Throws what path_kind() throws.
bool path_exists(const std::string& path, ErrorCode code);

// Returns true if path_kind() is kDirectory. Throws what path_kind() throws.
bool is_directory(const std::string& path, ErrorCode code);

// Returns true if `error_number` means that there is no file of the name.
bool means_absent(int error_number);

}  // namespace encode
