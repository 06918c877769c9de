// Writes a .npy matrix from its first row to its last, and hashes every byte that it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "encode/types.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/output_types.h"
#include "store/final_file.h"

namespace encode {

struct MatrixShape {
  RowRange rows;  // the rows of the stream that the file holds; errors name rows by these numbers
  int64_t columns = 0;
  ItemType item = ItemType::kFloat32;
  // True if the number of vectors is known only at the end, as for token embeddings.
  bool counted_at_end = false;
};

// Throws Error kData "store.nonfinite" if a value is not finite. `values` are rows of `dim` values.
// `place` gets the number of a row in `values`, and returns its place for the message.
void require_finite(std::span<const float> values, int64_t dim,
                    const std::function<std::string(int64_t)>& place);

struct RowLimits {
  int64_t row_bytes = 0;
  int64_t most = 0;  // rows
};
// Throws Error kInternal "store.misuse" unless `bytes` are whole rows, at most limits.most of them.
void require_whole_rows(const std::string& path, std::span<const std::byte> bytes,
                        const RowLimits& limits);
// Throws Error kInternal "store.misuse" unless all rows of the file were written.
void require_all_rows(const std::string& path, int64_t rows, int64_t written);

// Writes a .npy file. Not thread-safe.
class NpyWriter final : public FinalFile {
 public:
  // Reserves disk space for the whole file, unless the vectors are counted at the end. Throws Error
  // kCantCreate, kNoPermission, kIoError.
  NpyWriter(const std::string& path, MatrixShape shape);

  void append(std::span<const float> values) override;
  void append_bytes(std::span<const std::byte> bytes) override;
  // If the vectors are counted at the end, publish() first writes the header again and reads the
  // whole file for its hash.
  void publish() override;
  // sync() and then rename() do what publish() does, except that the folder is not synced.
  void sync();
  void rename() { file_.rename(); }

  const std::string& path() const override { return file_.path(); }
  int64_t rows_written() const override { return rows_written_; }
  int64_t bytes_written() const override { return file_.bytes_written(); }
  std::string xxh3_hex() const override { return hash_.hex(); }

 private:
  void end();
  void write_header_again();

  MatrixShape shape_;
  int64_t row_bytes_ = 0;
  int64_t rows_written_ = 0;
  AtomicFile file_;
  Xxh3 hash_;
};

}  // namespace encode
