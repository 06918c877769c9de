// Writes ledgers. A truncation ledger lists the rows that max_length has truncated, and how many
// tokens they lost. Another ledger lists the rows that were set aside, and why. A chunk, or a final
// matrix, has a ledger only if it has such rows. The truncation ledger of a final matrix consists
// of the ledgers of its chunks, one after the other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "encode/store.h"

#include "base/file.h"
#include "base/hash.h"

namespace encode {

// A writer that is destroyed before publish() removes its temporary file. Not thread-safe.
class LedgerWriter {
 public:
  explicit LedgerWriter(std::string path) : path_(std::move(path)) {}

  // Appends one line for each row. The rows must come in ascending order. Throws Error kIoError.
  void append(std::span<const TruncatedRow> rows);
  void append(std::span<const SetAsideRow> rows);
  // Appends another ledger, which must hold the rows that come next. Throws Error kData if its size
  // or checksum is not the one in `seal`. Also throws what read_sealed_file() and append() throw.
  void append_file(const std::string& path, const FileSeal& seal);
  // Publishes the file. When publish() returns, the file survives power loss. There must be a row:
  // empty() is false. Throws Error kIoError.
  FileSeal publish();
  // sync() and then rename() do what publish() does, except that the folder is not synced.
  FileSeal sync();
  void rename() { file_.value().rename(); }
  bool empty() const { return !file_; }

 private:
  void write(std::string_view text);
  FileSeal seal() const;

  std::string path_;
  std::optional<AtomicFile> file_;  // created when the first row is appended
  Xxh3 hash_;
};

}  // namespace encode
