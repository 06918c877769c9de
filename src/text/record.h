// Records are the units that the parser of a format cuts an input into. RowReader applies the row
// policies to them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "encode/config.h"
#include "encode/error.h"

#include "base/where_filter.h"
#include "text/byte_window.h"

namespace encode {

// A record of more than kMaxRecordBytes bytes is an Error under every row policy. This limits the
// memory of a reader, and stops the search for a line end in a file that has no line end.
inline constexpr int64_t kMaxRecordBytes = int64_t{64} << 20;
inline constexpr int64_t kMaxCsvFieldBytes = int64_t{16} << 20;
inline constexpr int64_t kMaxCsvColumns = 4096;
inline constexpr int kMaxJsonDepth = 64;
// The possible delimiters of a CSV file. The first of them that the header has outside of quotes is
// the delimiter.
inline constexpr std::string_view kCsvDelimiters = ",;\t|";

// The reason why a record cannot become a row. `code` is empty if the record has no problem.
struct RowProblem {
  ErrorCode code;
  std::string what;
  std::string expected;
  std::string found;
  std::string hint = {};     // how to correct it; "" if the parser does not know
  std::string fields = {};   // the names that the record has instead, as a list; "" if not known
  std::string place = {};    // where it is, if not at the record; "" otherwise
  bool other_field = false;  // true: `hint` proposes another field, so it is for the whole input
  bool no_value = false;     // true: a field is missing or null (MissingFieldPolicy)

  explicit operator bool() const { return static_cast<bool>(code); }
};

struct Record {
  // The physical line on which the record starts, from 1. Of a JSON array: the number of the
  // element.
  int64_t line = 0;
  int64_t offset_bytes = 0;  // the offset of the record's first byte in the decompressed input
  std::string_view text;     // valid until the next call of next(); may be invalid UTF-8
  // The type of the value that `text` has. Only with FileReading::any_values.
  FilterValue::Kind type = FilterValue::Kind::kString;
  bool tokenized = false;              // the record consists of `input_ids`, and `text` is empty
  std::span<const int32_t> input_ids;  // valid until the next call of next(); each id is >= 0
  bool replaced = false;               // true if U+FFFD has replaced an invalid part of `text`
  RowProblem problem;

  // Begins a record without a text, ids or a problem.
  void begin(int64_t first_line, int64_t first_byte) {
    line = first_line;
    offset_bytes = first_byte;
    text = {};
    type = FilterValue::Kind::kString;
    tokenized = false;
    input_ids = {};
    problem.code = {};
  }
  int64_t size_bytes() const {
    return static_cast<int64_t>(tokenized ? input_ids.size_bytes() : text.size());
  }
};

// What a splitter cuts a file into: the lines, or the elements of a JSON array.
struct RawRecord {
  // Without the line end, or without the spaces around an element. It is empty if the record is too
  // long. The ByteWindow::kPaddingBytes bytes after it may be read. It is valid until the next call
  // of the splitter.
  std::string_view bytes;
  int64_t number = 0;  // the number of the line or the element, from 1
  int64_t offset_bytes = 0;
  bool too_long = false;
};

// Cuts the bytes of one format into records and finds the text of each record. Damage that hides
// where the next record begins (an open quote, a record over kMaxRecordBytes) is an Error under
// every row policy. That Error is kData with file:line. The functions also throw what ByteWindow
// throws. One thread at a time may use a parser.
class RecordParser {
 public:
  virtual ~RecordParser() = default;
  virtual bool next(Record& record) = 0;  // returns false at the end of the input
  // Goes to the start of a record that an earlier pass has reported.
  virtual void seek(int64_t offset_bytes, int64_t line) = 0;
};

// Returns true if the record has no value for a field that was read with FileReading::any_values.
// Every other problem is a fault of the record.
bool is_absent(const RowProblem& problem);

// Returns the Error kData of a record with a problem, in the file with this path.
Error record_error(const Record& record, const std::string& path, std::string hint);

// Returns the problem of a record that is longer than `limit_bytes`.
RowProblem too_long_problem(int64_t limit_bytes);

}  // namespace encode
