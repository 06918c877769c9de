// Writes the file of a final matrix, whatever its format: from the first row to the last, and
// published under its name only when it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "encode/store.h"
#include "encode/vector_rows.h"

namespace encode {

// The file of a final matrix, to which something writes until it is complete. If the object is
// destroyed before publish(), it removes its temporary file and changes nothing else. An object
// that has thrown cannot be used any more. Not thread-safe.
class CompleteFile {
 public:
  virtual ~CompleteFile() = default;
  // Publishes the file. When publish() returns, the file survives power loss. Throws Error
  // kInternal if rows are missing, and kIoError.
  virtual void publish() = 0;

  virtual const std::string& path() const = 0;  // of the published file
  virtual int64_t rows_written() const = 0;     // the rows that the file has by now
  virtual int64_t bytes_written() const = 0;    // the size of the file; only after publish()
  virtual std::string xxh3_hex() const = 0;     // the hash of the file; only after publish()
};

class FinalFile : public CompleteFile {
 public:
  // Appends whole rows to a float32 matrix. Throws Error kData "store.nonfinite" if a value is not
  // finite, kIoError, and kInternal for a part of a row or for more rows than the matrix has.
  virtual void append(std::span<const float> values) = 0;
  // Appends whole rows of any type, with the items of npy_type(). Throws as append() does.
  virtual void append_bytes(std::span<const std::byte> bytes) = 0;
};

// The values of the columns beside the vectors of a table.
struct FinalColumns {
  ColumnOpener open;  // of the columns that the input has
  VectorRows rows;    // the rows of the stream and those that the final matrix lacks
  // The file of the passages of the vectors; "": the vectors are not those of passages.
  std::string passages = {};
  bool of_vectors = false;  // as Conversion::columns_of_vectors
};

// Begins the file of a final matrix at `path`. `manifest` has its identity, its format and its
// numbers of rows and columns. `columns` must outlive the file. Throws Error kCantCreate,
// kNoPermission, kIoError, and for a table kUnavailable "arrow.plugin" and what columns.open()
// throws.
std::unique_ptr<FinalFile> begin_final_file(const std::string& path, const Manifest& manifest,
                                            const FinalColumns& columns);

}  // namespace encode
