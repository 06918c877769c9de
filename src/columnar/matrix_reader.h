// Reads the vectors of a matrix file from the first row to the last, whatever its format: .npy,
// Parquet or Arrow IPC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/types.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/npy_reader.h"
#include "base/output_types.h"
#include "columnar/columnar.h"

namespace encode {

// The bytes of a finished file, for open_column(). Throws what open_for_reading() and pread_all()
// throw. Not thread-safe.
class FileBytes final : public ByteFile {
 public:
  explicit FileBytes(std::string path);
  int64_t size() const override { return size_; }
  void read(int64_t offset, std::span<char> to) override;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  UniqueFd fd_;
  int64_t size_ = 0;
};

// One thread at a time may use it. The functions that read throw Error: kIoError if reading fails,
// kData if the file is damaged.
class MatrixReader {
 public:
  virtual ~MatrixReader() = default;

  virtual const std::string& path() const = 0;
  virtual MatrixFormat format() const = 0;
  virtual int64_t rows() const = 0;
  virtual int64_t dim() const = 0;  // the items of a row; for packed bits, its bytes
  virtual ItemType item() const = 0;
  virtual int64_t file_bytes() const = 0;
  // Returns the names of the other columns; a .npy file has none.
  virtual const std::vector<std::string>& columns() const = 0;
  std::string_view item_word() const { return facts_of(item()).word; }
  int64_t row_bytes() const { return dim() * facts_of(item()).bytes; }
  // Returns the number of rows that fit in 1 MiB, at least 1.
  int64_t block_rows() const;

  // The next rows, row-major, at most `max_rows` of them; empty at the end. The memory is aligned
  // for float, and valid until the next call. next() is only for float32.
  virtual std::span<const std::byte> next_bytes(int64_t max_rows) = 0;
  std::span<const float> next(int64_t max_rows);

  // Must be called before the first row is read: the bytes of the file also go into `sha256`, which
  // must outlive the reader.
  virtual void also_hash(Sha256& sha256) = 0;
  // Must be called after the last row. Returns the hash of the whole file.
  virtual std::string xxh3_hex() = 0;
};

// Returns the format that the first bytes of a file show; kNpy if they show none. Throws what
// open_for_reading() throws.
MatrixFormat matrix_format(const std::string& path);

// Throws what NpyReader() and open_vectors() throw.
std::unique_ptr<MatrixReader> open_matrix_reader(const std::string& path, Elements elements);

}  // namespace encode
