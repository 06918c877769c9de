// Publishes the final matrices of attempts (attempt_folders.h): no lock keeps two attempts from
// publishing at the same time, and one may stand still between any two system calls and go on after
// the other has ended. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace encode {

// What the path of a final matrix has at one moment.
struct FinalSeen {
  // A file that is replaced by another one gets another FileMark.
  struct FileMark {
    uint64_t inode = 0;
    int64_t modified_ns = 0;
    int64_t bytes = 0;

    bool operator==(const FileMark&) const = default;
  };
  std::optional<FileMark> manifest;
  std::optional<FileMark> matrix;

  bool nothing() const { return !manifest && !matrix; }
  bool operator==(const FinalSeen&) const = default;
};

// Asks the server of a network file system, and not the memory of this machine. Throws Error
// kIoError and kNoPermission.
FinalSeen look_at_final(const std::string& matrix_path);

// Moves the complete final matrix `from` of an attempt, with the files beside it, to `to`, if `to`
// still is as `seen` says. Returns false, and changes nothing, if another run has published there
// since. `from` is <attempts>/<attempt>/<name of the file>.
//
// When it returns true, no attempt that looked at `to` before can change anything there, whatever
// it does later:
// - Nothing was at `to`: the manifest gets its name by link(), which fails for every attempt but
//   one. Only this one moves the other files.
// - Something was at `to`, or the file system has no links: first this attempt deletes the finished
//   matrices of all other attempts, so that their renames fail. Then it looks again, and renames
//   its own files if nobody has published meanwhile. An attempt that has finished a matrix after
//   the deletion must delete the matrix of this one before it renames, and then sees the new `to`.
// The manifest comes first and the matrix last, so a matrix that appears is complete.
//
// Throws Error kTempFail "store.taken" if another attempt has deleted `from`, which may leave `to`
// unfinished. Also throws Error kIoError and kNoPermission.
bool move_final(const std::string& from, const std::string& to, const FinalSeen& seen);

// Deletes the final matrix and the files beside it, and a temporary file of it.
void remove_attempt_final(const std::string& matrix_path);

}  // namespace encode
