// Git LFS pointers: small text files that stand for the real files in a clone without Git LFS. Any
// thread may call the function. It throws no Error.
#pragma once

#include <cstdint>
#include <string_view>

namespace encode {

// A pointer is smaller than this (docs/spec.md of Git LFS).
inline constexpr int64_t kMaxLfsPointerBytes = 1024;
// What to do about a pointer, for the hint of an Error.
inline constexpr std::string_view kLfsHint =
    "the real file was not fetched: run `git lfs pull`, or download the file again";
inline constexpr std::string_view kLfsFound = "a Git LFS pointer, not the file itself";

// Returns true if a file that begins with these bytes is a pointer. The second address is the one
// of Git LFS before its first release.
constexpr bool is_lfs_pointer(std::string_view start) {
  return start.starts_with("version https://git-lfs.github.com/spec/") ||
         start.starts_with("version https://hawser.github.com/spec/");
}

}  // namespace encode
