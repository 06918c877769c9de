// The truncation ledger: which rows max_length cut, and how many tokens they lost. One of each
// chunk that has such rows, and of each final, joined from its chunks'.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "encode/store.h"

#include "base/file.h"
#include "base/hash.h"

namespace encode {

class LedgerWriter {
 public:
  explicit LedgerWriter(std::string path) : path_(std::move(path)) {}

  // In ascending order of rows. Throws Error kIoError.
  void append(std::span<const TruncatedRow> rows);
  // The bytes of another ledger whose rows come next; throws Error kData unless they are those that
  // `seal` was made of.
  void append_file(const std::string& path, const FileSeal& seal);
  // On return the file, empty where nothing was appended, survives power loss.
  FileSeal publish();
  bool empty() const { return !file_; }

 private:
  void write(std::string_view text);

  std::string path_;
  std::optional<AtomicFile> file_;  // made with the first row
  Xxh3 hash_;
};

}  // namespace encode
