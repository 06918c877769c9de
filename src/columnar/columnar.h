// Reads columns of Parquet and Arrow IPC files. The plugin libencode_arrow.so does this with Arrow
// C++. It is opened together with the first such file, so that runs without such files need neither
// the plugin nor Arrow. columnar/table.h has the tables that encode itself writes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "encode/config.h"

namespace encode {

// The bytes of a file. One thread at a time may use it.
class ByteFile {
 public:
  virtual ~ByteFile() = default;
  virtual int64_t size() const = 0;
  // Fills `to`. The range must be inside the file. Throws Error.
  virtual void read(int64_t offset, std::span<char> to) = 0;
};

// The value of a column in one row. The views are valid until the next call of the reader.
struct ColumnValue {
  enum class Kind {
    kText,    // `text`, which may be invalid UTF-8
    kIds,     // `ids`
    kNull,    // no value
    kBadIds,  // a list with an entry that is no token id; `found` says which
  };
  // What kText was written from: kString also stands for dates and times.
  enum class Type { kString, kNumber, kBoolean };
  Kind kind = Kind::kNull;
  Type type = Type::kString;  // only of kText
  std::string_view text;
  std::span<const int32_t> ids;  // each id is >= 0
  std::string found;
};

// Reads the values of one column in order. Its memory does not depend on the size of the file: it
// holds one batch of rows (Parquet: a few MiB; Arrow: a record batch), and never more than
// kColumnarMemoryBytes. One thread at a time. After an Error the reader cannot be used any more.
//
// The functions throw Error: kData "arrow.damaged" if the file is damaged or truncated, kData
// "arrow.memory" if it needs more memory, and what ByteFile::read() throws.
class ColumnReader {
 public:
  virtual ~ColumnReader() = default;
  virtual bool next(ColumnValue& value) = 0;  // returns false at the end of the column
  // Makes `row` of the file (from 0) the next row.
  virtual void seek(int64_t row) = 0;
};

inline constexpr int64_t kColumnarMemoryBytes = int64_t{1} << 30;

struct ColumnRequest {
  enum class Values {
    kRows,     // strings, or lists of integers as token ids
    kAny,      // strings, and every value that is no list or struct, written as text: 17, true, 0.5
    kVectors,  // lists of a fixed size of numbers; only open_vectors() asks for them
  };

  TextFormat format = TextFormat::kParquet;  // columnar
  std::string path;                          // for messages
  std::string column;                        // the name of a column of the top level
  Values values = Values::kRows;
};

// Opens a column. `file` must outlive the reader. Throws what ColumnReader throws, and Error:
//   kUnavailable "arrow.plugin"  the plugin or Arrow C++ cannot be opened
//   kConfig "arrow.column"       no column or several columns have the name
//   kConfig "arrow.type"         the column holds other values than the request allows
std::unique_ptr<ColumnReader> open_column(ByteFile& file, const ColumnRequest& request);

// Throws Error kUnavailable "arrow.plugin" if Parquet and Arrow files can be neither read nor
// written. `path` is the file that is wanted, for the message.
void require_columnar(const std::string& path);

}  // namespace encode
