// Writes a final matrix as a Parquet or Arrow IPC file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encode/store.h"

#include "base/file.h"
#include "base/hash.h"
#include "columnar/table.h"
#include "store/final_file.h"

namespace encode {

// Collects rows into groups of about kGroupBytes and writes each group at once. The end of a group
// depends only on the rows, so equal rows give equal bytes.
class TableFile final : public FinalFile, private ByteSink {
 public:
  static constexpr int64_t kGroupBytes = int64_t{32} << 20;
  static constexpr int64_t kMostGroupRows = int64_t{1} << 20;

  // See begin_final_file() for the arguments and the errors.
  TableFile(const std::string& path, const Manifest& manifest, const FinalColumns& columns);

  void append(std::span<const float> values) override;
  void append_bytes(std::span<const std::byte> bytes) override;
  void publish() override;
  const std::string& path() const override { return file_.path(); }
  int64_t rows_written() const override { return rows_written_; }
  int64_t bytes_written() const override { return file_.bytes_written(); }
  std::string xxh3_hex() const override { return hash_.hex(); }

 private:
  void write(std::span<const char> bytes) override;
  void append_row(std::span<const std::byte> vector);
  void append_columns();
  void read_row();
  void write_group();

  TableSchema schema_;
  int64_t rows_ = 0;  // of the table
  int64_t row_bytes_ = 0;
  const FinalColumns& columns_;
  int64_t stream_row_;                    // the row of the stream that comes next
  std::unique_ptr<ColumnSource> source_;  // null if no column comes from the input
  std::vector<std::optional<std::string>> values_;
  AtomicFile file_;
  Xxh3 hash_;
  std::unique_ptr<TableWriter> writer_;
  TableRows group_;
  int64_t group_bytes_ = 0;
  int64_t rows_written_ = 0;
};

}  // namespace encode
