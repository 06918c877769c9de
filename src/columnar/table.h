// Tables of vectors: final matrices in Parquet and Arrow IPC. A table has the column
// kEmbeddingColumn, whose values are lists of a fixed size, and columns of numbers or texts before
// it. No vector is null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/output_types.h"
#include "columnar/columnar.h"

namespace encode {

// Takes the bytes of a file in order. One thread at a time may use it.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::span<const char> bytes) = 0;  // throws Error
};

struct TableSchema {
  // A column in addition to the vectors: int64 without nulls, or UTF-8 texts that may be null.
  struct Column {
    std::string name;
    bool numbers = false;
    bool operator==(const Column&) const = default;
  };

  bool parquet = true;  // false: an Arrow IPC file
  std::string path;     // for messages
  ItemType item = ItemType::kFloat32;
  int64_t items = 0;  // the items of a vector, at least 1
  std::vector<Column> columns;
  // Key-value pairs that are written into the file, for readers that have no manifest.
  std::vector<std::pair<std::string, std::string>> metadata = {};
};

// Rows of a table. A column has either `numbers`, or texts: text i is the bytes [offsets[i],
// offsets[i + 1]), and is null if present[i] is 0.
struct TableRows {
  struct Column {
    std::vector<int64_t> numbers;
    std::string bytes;
    std::vector<int32_t> offsets = {0};
    std::vector<uint8_t> present;
  };

  int64_t rows = 0;
  std::vector<std::byte> vectors;  // row-major
  std::vector<Column> columns;     // in the order of TableSchema::columns
};

// Writes a table, compressed with zstd. Equal calls write equal bytes if the version of Arrow is
// the same. One thread at a time. A writer that has thrown cannot be used any more. Throws what
// ByteSink::write() throws, and Error kInternal "arrow.write" if Arrow refuses the values.
class TableWriter {
 public:
  virtual ~TableWriter() = default;
  // Writes the rows as one row group (Parquet) or record batch (Arrow). Holds about twice their
  // bytes in memory.
  virtual void write(const TableRows& rows) = 0;
  virtual void finish() = 0;  // must be called once, after the last rows
};

// Reads the vectors of a table in order. Its memory does not depend on the size of the file: it
// holds one block of a few MiB (Parquet) or one record batch (Arrow). Has the failures and the
// thread rule of ColumnReader.
class VectorReader {
 public:
  virtual ~VectorReader() = default;
  virtual int64_t rows() const = 0;
  // Returns the schema, with empty `path` and `metadata`. It has all other columns of the file. The
  // name of a column that holds neither numbers nor texts is followed by its type.
  virtual const TableSchema& schema() const = 0;
  // Returns the next rows, row-major, valid until the next call; empty at the end.
  virtual std::span<const std::byte> next() = 0;
};

// `sink` and `file` must outlive what these functions return. Both throw Error kUnavailable
// "arrow.plugin". open_vectors() also throws what VectorReader throws, and Error kData
// "arrow.vectors" if the file has no column kEmbeddingColumn of vectors.
std::unique_ptr<TableWriter> open_table_writer(ByteSink& sink, const TableSchema& schema);
std::unique_ptr<VectorReader> open_vectors(ByteFile& file, bool parquet, const std::string& path);

}  // namespace encode
