// Tells that a file system has no locks. Any thread may call the function. It throws no Error.
#pragma once

#include <cerrno>

namespace encode {

// ErrorDetail::expected of an Error about such a file system, and only of it.
inline constexpr const char* kFileSystemWithLocks = "a file system with locks";

// Takes the errno of a call that locks a file. ENOLCK comes from NFS without a lock server, ENOSYS
// from Lustre without the mount option flock.
inline bool means_no_locks(int error) {
  return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP;
}

}  // namespace encode
