// The implementation of open_texts() and scan_texts(). RowReader reads records with the parser of
// the format and applies the row policies to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "encode/text.h"

#include "text/byte_source.h"
#include "text/byte_window.h"
#include "text/record.h"

namespace encode {

// One thread at a time may use a reader. It throws what TextReader throws.
class RowReader final : public TextReader {
 public:
  static constexpr size_t kBlockBytes = size_t{256} << 10;

  enum class Purpose { kRead, kScan };  // kScan also hashes the file

  // Reads the input in blocks of `block_bytes`. The rows do not depend on the size of the blocks.
  // Tests use small blocks to cut records at every place. Throws what open_texts() throws.
  RowReader(const InputOptions& options, Purpose purpose, size_t block_bytes = kBlockBytes);

  bool next(Text& text) override;
  // Makes the row of a checkpoint of the same file the next row. Throws what next() throws.
  void go_to(const InputScan::Checkpoint& checkpoint);

  // Reads the whole input. The reader must have Purpose::kScan, and must not have read anything
  // before. Throws what TextReader throws, and passes on what `on_rejected` throws.
  InputScan scan(const std::function<void(const RejectedRow&)>& on_rejected);

 private:
  enum class Verdict { kAccept, kReject };

  bool advance(const std::function<void(const RejectedRow&)>& on_rejected);
  Verdict judge();
  void judge_utf8();
  Verdict refuse(bool fatal);
  void check_encoding();

  InputOptions options_;
  DiskFile file_;
  ByteWindow window_;
  std::unique_ptr<RecordParser> parser_;

  int64_t rows_ = 0;      // the number of accepted rows so far
  int64_t records_ = 0;   // the number of records so far
  Record record_;         // the last record
  std::string repaired_;  // the text of record_ if it was not valid UTF-8
};

}  // namespace encode
