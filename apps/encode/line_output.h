// The output of a command such as `encode tokenize`, which writes the same lines each time that it
// gets the same input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace encode {

// Writes the lines to a new file. If the file exists, compares the lines with the lines of the
// file, so that a command that is run twice finds its own output. Not thread-safe.
class LineOutput {
 public:
  // `overwrite`: an existing file is replaced. Throws what AtomicFile or open_for_reading() throws.
  LineOutput(std::string path, bool overwrite);

  // `line` ends in '\n'. Throws what AtomicFile or pread_all() throws, and Error kCantCreate
  // "output.exists" if the existing file has another line here, or none.
  void write(std::string_view line);
  // Publishes the new file and returns true. Returns false if the existing file has exactly these
  // lines. Throws what write() throws.
  bool finish();

 private:
  [[noreturn]] void refuse(std::string found) const;

  std::string path_;
  std::optional<AtomicFile> file_;  // nullopt: the file exists, and is compared
  UniqueFd existing_;
  int64_t size_ = 0;    // the size of the existing file
  int64_t offset_ = 0;  // where its next line begins
  int64_t lines_ = 0;   // the lines that were compared
  std::string found_;   // the bytes of the existing file at the place of a line
};

}  // namespace encode
