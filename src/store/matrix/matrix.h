// The rows of a finished matrix, whatever its type and the format of its file. Commands that
// compute with a final matrix (search, reports) read it through this interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encode/store.h"
#include "encode/types.h"

namespace encode {

// The memory into which a thread reads rows. It is reused from call to call.
struct MatrixBuffer {
  std::vector<std::byte> stored;
  std::vector<float> floats;
};

// Immutable, so any number of threads may read rows, each with a buffer of its own.
class Matrix {
 public:
  virtual ~Matrix() = default;

  const std::string& path() const { return path_; }
  // Returns the path of a matrix file, beside which the ranges of these rows are: path(), or the
  // first part if path() is a list of parts.
  virtual const std::string& file() const { return path_; }
  const Manifest& manifest() const { return manifest_; }
  OutputType type() const { return manifest_.type; }
  int64_t rows() const { return manifest_.vectors(); }  // of the matrix, not of the input
  int64_t dim() const { return manifest_.identity.dim; }
  int64_t columns() const { return manifest_.columns; }  // output_columns(type(), dim())
  int64_t row_bytes() const { return row_bytes_; }       // the bytes of a stored row

  // Returns rows as they are stored: row-major [rows.size(), columns()], with elements of
  // npy_type(type()) that are aligned. The view is valid until `buffer` or the matrix changes.
  // `rows` must lie in [0, rows()). Throws Error kIoError if reading fails.
  virtual std::span<const std::byte> stored(RowRange rows, MatrixBuffer& buffer) const = 0;

  // Returns the stored numbers of rows as float32: what as_floats() of store/quantize.h returns.
  // StoredValues returns the numbers that quantized rows stand for. The view is valid until
  // `buffer` or the matrix changes. Throws what stored() throws.
  std::span<const float> floats(RowRange rows, MatrixBuffer& buffer) const;

 protected:
  Matrix(std::string path, Manifest manifest);

 private:
  std::string path_;
  Manifest manifest_;
  int64_t row_bytes_;
};

// How the rows of a matrix are read. Both ways give the same rows.
enum class RowAccess {
  kMapped,  // from a mapping of the file: for commands that read all rows, best in their order
  // From the file, into the buffer: for commands that read few rows. The memory of the process does
  // not grow with the matrix, as it does if the kernel reads ahead in a mapping.
  kFewRows,
};

// Opens a finished matrix, or all parts of a merged one if `path` is a list of parts
// (x.parts.json). The vectors of a Parquet or Arrow file are copied to a temporary file,
// which needs row_bytes() for each row on the disk of temporary_place(). Compares the header of the
// matrix with the manifest. Does not check the hash; `encode verify` checks it. Throws Error:
// - kNoInput "npy.open" if there is no such file,
// - kData "matrix.unfinished" if it has no manifest,
// - kData "matrix.damaged" if its size, shape or type differs from the manifest,
// - kData "npy.header" if it should be a .npy file and is not,
// - what open_matrix_reader() throws for a table,
// - what read_manifest() throws, and for a list what read_parts_list() throws.
std::unique_ptr<Matrix> open_matrix(const std::string& path, RowAccess access = RowAccess::kMapped);

}  // namespace encode
