// The implementation of open_scanned_texts().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/text.h"

#include "text/row_reader.h"

namespace encode {

// Reads a block of rows (see InputScan::Checkpoint) into memory, compares its hash with the hash of
// the scan, and only then returns its rows. So it never returns a row that the scan has not seen.
// Has the thread rule and the failures of ScannedTexts.
class ScannedReader final : public ScannedTexts {
 public:
  // `scan` must outlive the reader. `block_bytes` is for RowReader.
  ScannedReader(const InputOptions& options, const InputScan& scan,
                size_t block_bytes = RowReader::kBlockBytes);

  bool next(Text& text) override;
  void seek(int64_t row) override;

 private:
  size_t block_of(int64_t row) const;
  void load_block(size_t index);
  void read_block(size_t index);
  std::string file_of(const InputScan::Checkpoint& block) const;

  InputOptions options_;
  const InputScan& scan_;
  size_t block_bytes_;
  std::optional<RowReader> reader_;
  size_t next_block_ = 0;    // the block that `reader_` reads next
  std::vector<Text> block_;  // the rows [block_begin_, block_end_)
  int64_t block_begin_ = 0;
  int64_t block_end_ = 0;
  int64_t first_unread_ = 0;  // next() has moved out the rows of the block before this row
  int64_t row_ = 0;           // the row that next() returns
};

}  // namespace encode
