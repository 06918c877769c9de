// Reads rows of text in bounded memory from files of text, plain or compressed, and from columnar
// files. base/input_format.h has the formats. An input is one file or several files, one after the
// other. Any thread may call the free functions. A class says which threads may use it.
//
// In every format of text:
// - The file is UTF-8. One byte order mark at its start is dropped. UTF-16, and a compressed file
//   without its suffix, are errors.
// - LF and CRLF end a line. A CR without LF, and NUL, are text.
// - These end the run under every policy: a record over 64 MiB, and a damaged .gz or .zst file.
//
// text/parsers.h says what a row and a bad row are in each format of text, and what else ends the
// run. text/columnar_file.h says it for columnar files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/config.h"
#include "encode/path_list.h"
#include "encode/scanned_files.h"
#include "encode/types.h"

namespace encode {

// A text that is cut into passages, and what stands before and after every passage.
struct FramedText {
  std::string_view before = {};
  std::string_view text;
  std::string_view after = {};
};

// One accepted row.
struct Text {
  int64_t row = 0;  // the number of accepted rows before this row
  // The place of the row in the file, counted from 1: the line on which the row begins or, in some
  // formats, the number of the element or row of the file (FormatFacts::record).
  int64_t line = 0;
  int64_t record = 0;  // the number of records of the input before this row
  std::string utf8;    // valid UTF-8, which may contain NUL
  // With InputOptions::passage_field: the bytes of `utf8` before this field and after it.
  int64_t bytes_before = 0, bytes_after = 0;
  bool tokenized = false;          // true: the row consists of token ids, and `utf8` is empty
  std::vector<int32_t> input_ids;  // the token ids if `tokenized` is true, each >= 0
  std::string_view file;           // the path of the file; the reader owns it

  std::string place() const { return std::string(file) + ":" + std::to_string(line); }
  // Returns the parts of `utf8`, which must not change while they are used.
  FramedText framed() const {
    const std::string_view all = utf8;
    const auto begin = static_cast<size_t>(bytes_before);
    const size_t end = all.size() - static_cast<size_t>(bytes_after);
    return {all.substr(0, begin), all.substr(begin, end - begin), all.substr(end)};
  }
};

// What one pass over an input has found. Always, rows_in == rows + rejected + filtered.
struct InputScan {
  int64_t rows_in = 0;  // the records that were read; reading stops after limit_rows accepted rows
  int64_t rows = 0;     // the accepted rows, which become the rows of the matrix
  int64_t rejected = 0;
  int64_t filtered = 0;        // the records for which the filter is not true
  int64_t filter_unknown = 0;  // those of them for which it is null, because a field has no value
  // With a filter: the hash of the numbers of the records that became rows; otherwise "".
  std::string kept_xxh3_128 = {};
  int64_t empty = 0;          // accepted rows with an empty text or an empty list of ids
  int64_t blank = 0;          // accepted rows with a text of white space only; see EmptyRows
  int64_t tokenized = 0;      // accepted rows that are token ids
  int64_t utf8_replaced = 0;  // accepted rows in which U+FFFD replaced something
  int64_t text_bytes = 0;     // the UTF-8 bytes of the accepted rows; 4 bytes for a token id
  int64_t frame_bytes = 0;    // those of them outside of InputOptions::passage_field
  int64_t longest_bytes = 0;  // the most bytes of one accepted row

  using File = ScannedFile;
  // In the order in which they are read; at least one. Empty if `listed` names files that were not
  // read from the list.
  ScannedFiles files = {};
  // The place of these files in the list of all files of the input, if that has more than
  // kMostUnlistedFiles.
  std::optional<ListedFiles> listed = {};
  int64_t file_bytes() const {
    return files.empty() && listed ? listed->list.bytes : files.bytes();
  }

  // The start of a block of rows: a place in the file at which reading can begin. The block goes up
  // to the next checkpoint or to the last row.
  struct Checkpoint {
    int64_t row = 0;           // the number of the accepted row that begins there
    int64_t file = 0;          // the index in `files`
    int64_t line = 0;          // as in Text
    int64_t rows_in = 0;       // the number of records of the input before this place
    int64_t offset_bytes = 0;  // in the decompressed bytes of the file; columnar files: 0
    // The hash of the accepted rows of the block and, with a filter, of the numbers of their
    // records.
    std::array<std::byte, 16> xxh3_128 = {};
    bool operator==(const Checkpoint&) const = default;
  };
  // A block ends with its 1,000th row, or with the row that brings its text to 1 MiB. After every
  // 16,384 blocks the number of rows doubles, up to 64,000, so that an input of many short rows has
  // few blocks.
  static constexpr int64_t kBlockRows = 1000;
  static constexpr int64_t kBlocksOfOneSize = 16384;
  static constexpr int64_t kMaxBlockRows = 64'000;
  static constexpr int64_t kBlockTextBytes = 1 << 20;
  std::vector<Checkpoint> checkpoints = {};  // in the order of the rows
  // The row after the last one of the last block. For a whole input this is `rows`. The scan of a
  // shard has the blocks with its rows, and their first and last rows may belong to its neighbours.
  int64_t end_row = 0;
};

// A record that a policy dropped.
struct RejectedRow {
  int64_t record = 0;     // the number of records of the input before this record
  int64_t line = 0;       // as in Text
  std::string_view file;  // the path of the file, valid during the call
  std::string reason;     // "bad JSON: ...", "field 'text' is missing", ...
};

// Reads the accepted rows in order. One thread at a time. Throws Error: kNoInput if the file is
// missing, kData with file:line for a row that a policy does not accept, kIoError if reading or
// decompressing fails.
class TextReader {
 public:
  virtual ~TextReader() = default;

  // Fills `text` with the next accepted row, reusing its buffers, and returns true. Returns false
  // at the end of the input.
  virtual bool next(Text& text) = 0;
};

// Reads the rows of a scan again, and returns a row only after the hash of its block was compared
// with the hash of the scan. So every row is the one that the scan has seen, even if the file was
// replaced or written to since. next() throws Error kIoError "text.changed" if a row is another one
// or is missing, and what TextReader throws if the file cannot be read. One thread at a time.
class ScannedTexts : public TextReader {
 public:
  // Makes `row` the next row, which must be in a block of the scan or be its end_row. next() then
  // reads from the last checkpoint before the row. To reach it, a compressed file is decompressed
  // from the current place, or from the beginning of the file if the checkpoint lies behind the
  // current place. Throws Error kInternal if `row` is out of range.
  virtual void seek(int64_t row) = 0;
};

// Returns the paths of the files of an input, in the order in which they are read:
// - a file: itself;
// - a folder that `datasets.save_to_disk` wrote: the files of its state.json, in that order;
// - a pattern with *, ? or [ (glob(7)), if no file has this name: the files that match, sorted by
//   the bytes of their paths.
// The options may give several of these, and the files of one follow the files of another. "-" is
// returned as it is. Throws Error "text.files": kNoInput if a pattern has no match or a folder no
// state.json, kConfig for too many files and for a state.json that has no list of files.
PathList input_files(const InputOptions& options);

// Opens an input. `options.path` must not be "-": see spool_standard_input(). Throws what
// input_files() and TextReader throw, and Error: kData "filter.type" or "filter.records" for a
// record to which the filter cannot be applied, kInternal for "-", kConfig if the format or the
// field is not known or max_row_bytes is out of range, kUnavailable "arrow.plugin" if the plugin
// for Parquet and Arrow is missing.
std::unique_ptr<TextReader> open_texts(const InputOptions& options);

// Opens an input for reading the rows of `scan`, which scan_texts() has made with the same options.
// `scan` must outlive the reader, which reads the files of the scan and looks for no others. The
// first file is opened by the first next().
std::unique_ptr<ScannedTexts> open_scanned_texts(const InputOptions& options,
                                                 const InputScan& scan);

// Throws Error kIoError "text.changed" if a file of the scan is gone or has another content. Reads
// a file only if its size is unchanged, but its inode or the time of its last write is not, because
// a copy of the same content is no change.
void require_unchanged(const InputScan& scan);

// A row of a scan with the values of other fields of its record.
struct FieldRow {
  int64_t record = 0;               // as in Text
  std::optional<std::string> text;  // the text of the row; nullopt for a row of token ids
  int64_t bytes_before = 0;         // as in Text
  // In the order of the fields. Strings are as they are; other values are written as in the JSON of
  // the file, without spaces, or as Arrow writes them. nullopt: the record has no value, or null.
  std::vector<std::optional<std::string>> fields;
};

// Reads the rows of a scan again, in order, with other fields of their records. One thread at a
// time. The functions throw Error kIoError "text.changed" if a file has changed since the scan, and
// what TextReader throws if it cannot be read. next() throws Error kData "jsonl.duplicate" if a
// field occurs twice.
class ScannedFields {
 public:
  virtual ~ScannedFields() = default;
  virtual bool next(FieldRow& row) = 0;  // returns false after the last row
  // Must be called after the last row: only then is it certain that the fields are from the files
  // of the scan.
  virtual void finish() = 0;
};

// Opens an input for reading the rows of `scan`, as open_scanned_texts() does. A field is named as
// InputOptions::field is.
std::unique_ptr<ScannedFields> open_scanned_fields(const InputOptions& options,
                                                   const InputScan& scan,
                                                   const std::vector<std::string>& fields);

// Returns the names of the fields of the first record, or of the columns, of an input: "id, text".
// A long list is cut. Returns "" if they are not known, for example for a file that cannot be read,
// and for an input of lines. Throws no Error.
std::string list_fields(const InputOptions& options);

// Looks for the fields in the files: for columns in all of them, and for fields of JSONL and JSON
// at the beginning of the first one. Throws Error kConfig:
//   "text.field"    the input has lines, which have no fields
//   "csv.column", "arrow.column", "arrow.type", "jsonl.pointer"  as for InputOptions::field
//   "output.column" the first 1,000 rows of a file of JSON do not have the field
// Also throws what TextReader throws.
void require_fields(const InputOptions& options, const InputScan& scan,
                    const std::vector<std::string>& fields);

// Returns the fields (InputOptions::field, or those of the template) that none of the first 1,000
// records of a JSONL or JSON file has; they may be misspelled. Returns none unless missing fields
// are empty, because a row without a field is a bad row otherwise. Throws what TextReader throws.
std::vector<std::string> unseen_fields(const InputOptions& options, const InputScan& scan);

// Returns the fields of the filter that none of the first 1,000 records of a JSONL or JSON file
// has; they may be misspelled. Returns none if the filter reads another input.
// Throws what TextReader throws.
std::vector<std::string> unseen_filter_fields(const InputOptions& options, const InputScan& scan);

// Reads the whole input once, under the same policies as open_texts(). Calls `on_rejected`, if it
// is not empty, for every record that is dropped. Throws what open_texts() and TextReader throw,
// and passes on what `on_rejected` throws.
InputScan scan_texts(const InputOptions& options,
                     const std::function<void(const RejectedRow&)>& on_rejected);

// Standard input, copied to a file.
struct SpooledInput {
  InputOptions options;    // for reading the copy; `format` is not kAuto
  std::string guess = {};  // which format was guessed, and why; "" if the format was given
  bool ambiguous = false;  // another format is possible
};

// Copies standard input to the file `spool_path`, so that it can be read twice. The file appears
// only when it is complete. If the bytes are compressed, .gz or .zst is appended to its name. If
// options.format is kAuto, guesses the format from the first 64 KiB of the texts:
// - Parquet and Arrow by their first bytes;
// - without a field: a JSON array of texts, or else lines;
// - with a field or a template: JSONL or a JSON array of objects by the first character; CSV or TSV
//   if the first line has at least two columns, and all fields are among them.
// Throws Error kConfig "text.format" if the format is not clear, kData if the compressed bytes are
// damaged, and kIoError, kCantCreate or kNoPermission if reading or writing fails.
SpooledInput spool_standard_input(const InputOptions& options, const std::string& spool_path);

}  // namespace encode
