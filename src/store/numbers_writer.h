// Writes a .npy vector of int64 numbers beside a matrix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/store.h"

#include "base/file.h"
#include "base/hash.h"

namespace encode {

// A writer that is destroyed before publish() or rename() removes its temporary file. Not
// thread-safe.
class NumbersWriter {
 public:
  // Throws Error kCantCreate, kNoPermission, kIoError.
  NumbersWriter(const std::string& path, int64_t count);

  // Throws Error kIoError, or kInternal "store.misuse" if the file has `count` numbers already.
  void append(int64_t number);
  // Publishes the file. When publish() returns, the file survives power loss. Throws Error
  // kInternal "store.misuse" if numbers are missing, and kIoError if writing fails.
  FileSeal publish();
  // sync() and then rename() do what publish() does, except that the folder is not synced.
  FileSeal sync();
  void rename() { file_.rename(); }

 private:
  void flush();
  void end();
  FileSeal seal() const;
  Error misfit() const;

  int64_t count_;
  int64_t appended_ = 0;
  std::vector<int64_t> buffer_;
  AtomicFile file_;
  Xxh3 hash_;
};

}  // namespace encode
