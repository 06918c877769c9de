// Records: what a format's parser makes of the bytes, before the policies decide about them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "encode/config.h"

#include "text/byte_window.h"

namespace encode {

// A longer record ends the run: no row policy may make a reader hold more, or search a file without
// line ends for ever.
inline constexpr int64_t kMaxRecordBytes = int64_t{64} << 20;
inline constexpr int64_t kMaxCsvFieldBytes = int64_t{16} << 20;
inline constexpr int64_t kMaxCsvColumns = 4096;
inline constexpr int kMaxJsonDepth = 64;

// Why a record cannot become a row; `code` is empty where it can.
struct RowProblem {
  std::string_view code;
  std::string what;
  std::string expected;
  std::string found;

  explicit operator bool() const { return !code.empty(); }
};

struct Record {
  int64_t line = 0;                    // 1-based physical line on which it starts
  int64_t offset_bytes = 0;            // of its first byte in the decompressed input
  std::string_view text;               // valid until the next call; perhaps not UTF-8
  bool tokenized = false;              // the record is `input_ids`, and `text` is empty
  std::span<const int32_t> input_ids;  // valid until the next call; each >= 0
  bool replaced = false;  // `text` holds U+FFFD where the record had no valid character
  RowProblem problem;

  int64_t size_bytes() const {
    return static_cast<int64_t>(tokenized ? input_ids.size_bytes() : text.size());
  }
};

// One format's rules for cutting bytes into records and finding the text in each. Damage after
// which the rest of the file cannot be told apart (an open quote, a record over kMaxRecordBytes) is
// an Error at once.
class RecordParser {
 public:
  virtual ~RecordParser() = default;
  virtual bool next(Record& record) = 0;  // false at the end of the input
  // To a record start that an earlier pass reported.
  virtual void seek(int64_t offset_bytes, int64_t line) = 0;
};

// `window` stands at the first record (CSV: the header) and must outlive the parser. CSV reads its
// header here.
std::unique_ptr<RecordParser> make_lines_parser(ByteWindow& window, const InputOptions& options);
std::unique_ptr<RecordParser> make_jsonl_parser(ByteWindow& window, const InputOptions& options);
std::unique_ptr<RecordParser> make_csv_parser(ByteWindow& window, const InputOptions& options,
                                              char delimiter);

// "at most 1048576 bytes", for the limit of a row.
RowProblem too_long_problem(int64_t limit_bytes);

}  // namespace encode
