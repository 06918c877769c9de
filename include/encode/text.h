// Texts as a stream of rows, in bounded memory, from txt, JSONL, CSV and TSV (plain, .gz or .zst).
//
// What is the same in every format: the file is UTF-8 (one byte order mark at its start is dropped;
// UTF-16 and a compressed file without its suffix are refused), LF and CRLF end a line, a lone CR
// and NUL are text. What a policy cannot repair ends the run: a record over 64 MiB, an open CSV
// quote, a CSV field over 16 MiB, a damaged .gz or .zst.
// Per format:
// - txt: a line is a row; a final line end makes no row.
// - JSONL: a line is a document, at most 64 levels deep. The field is a string, or an array of
//   integers in [0, 2^31): token ids, which are taken as they are. Bad: a blank line that is not
//   the last, and a line over 8 x max_row_bytes + 1 MiB, whatever its text.
// - CSV, TSV: RFC 4180 with a header. Bad: quotes in the wrong place, a wrong number of fields. A
//   blank line is an empty row where there is one column, else bad unless it is the last.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/types.h"

namespace encode {

// One row. Always valid UTF-8; may contain NUL. `row` counts accepted rows from 0; `line` is the
// 1-based physical line on which the row starts, for messages.
struct Text {
  int64_t row = 0;
  int64_t line = 0;
  std::string utf8;
  bool tokenized = false;          // the row came as token ids; `utf8` is empty
  std::vector<int32_t> input_ids;  // those, each >= 0
};

// What one pass over an input found. rows_in == rows + rejected always holds.
struct InputScan {
  int64_t rows_in = 0;  // records in the file, up to limit_rows accepted ones
  int64_t rows = 0;     // accepted: the rows of the matrix
  int64_t rejected = 0;
  int64_t empty = 0;          // accepted rows whose text, or list of ids, is empty
  int64_t tokenized = 0;      // accepted rows that are token ids
  int64_t utf8_replaced = 0;  // accepted rows in which something was replaced by U+FFFD
  int64_t text_bytes = 0;     // UTF-8 bytes of accepted rows; 4 for a token id
  int64_t longest_bytes = 0;  // of one accepted row
  std::string sha256;         // hex, of the file's bytes as they lie on disk
  int64_t file_bytes = 0;

  // Where to start reading for row i * kCheckpointRows: offset in the decompressed bytes.
  struct Checkpoint {
    int64_t row = 0;
    int64_t line = 0;
    int64_t rows_in = 0;
    int64_t offset_bytes = 0;
  };
  static constexpr int64_t kCheckpointRows = 1000;
  std::vector<Checkpoint> checkpoints;
};

// A record that the policy dropped.
struct RejectedRow {
  int64_t record = 0;  // 0-based number of the record in the file
  int64_t line = 0;    // 1-based
  std::string reason;  // "bad JSON: ...", "field 'text' is missing", ...
};

// Reads rows in order. Not thread-safe; one reader per thread. Throws Error: kNoInput where the
// file is missing, kData with file:line for a bad row under BadRowPolicy::kError, kIoError where
// reading or decompressing fails.
class TextReader {
 public:
  virtual ~TextReader() = default;

  // Fills `text` with the next accepted row (its buffer is reused) and returns true, or returns
  // false at the end.
  virtual bool next(Text& text) = 0;

  // Goes on at `row` (0 <= row <= rows) of the file that `scan` is of, under the same options.
  // O(kCheckpointRows) for plain files; compressed files are decompressed up to there, from their
  // beginning where `row` lies behind.
  virtual void seek(int64_t row, const InputScan& scan) = 0;
};

// Opens an input. `options.path` must not be "-": see spool_standard_input.
std::unique_ptr<TextReader> open_texts(const InputOptions& options);

// One pass over the whole input under the same policies that open_texts() applies: counts, SHA-256
// and checkpoints. `on_rejected` is called for every dropped record and may be empty.
InputScan scan_texts(const InputOptions& options,
                     const std::function<void(const RejectedRow&)>& on_rejected);

// Copies standard input to `spool_path` (atomically) so that it can be read twice; returns the
// options of the copy. Error kConfig where options.format is kAuto: "-" has no suffix. The suffix
// of `spool_path` (.gz, .zst) says how the bytes are compressed.
InputOptions spool_standard_input(const InputOptions& options, const std::string& spool_path);

}  // namespace encode
