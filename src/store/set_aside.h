// Reads the ledgers of rows that were set aside, and leaves such rows out of a matrix. LedgerWriter
// writes these ledgers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "encode/store.h"
#include "encode/vector_rows.h"

namespace encode {

// Returns the line of a ledger for this row, with its newline. Long texts are cut.
std::string ledger_line(const SetAsideRow& row);

// Reads a ledger. Throws Error kData "store.damaged" if it does not fit the seal or is not a
// ledger. Also throws what read_sealed_file() throws.
std::vector<SetAsideRow> read_set_aside(const std::string& path, const FileSeal& seal);

// Passes on the rows of a matrix that were not dropped. Not thread-safe.
class RowFilter {
 public:
  // `rows` must outlive the filter, which gets each of its rows in order.
  RowFilter(const VectorRows& rows, int64_t dim)
      : dropped_(rows.dropped()), dim_(dim), row_(rows.range().begin) {}

  // Takes the next rows, row-major [n, dim], and calls `pass` with each range of consecutive rows
  // that were not dropped.
  void take(std::span<const float> values, const std::function<void(std::span<const float>)>& pass);

 private:
  std::span<const int64_t> dropped_;  // the dropped rows that the filter has not seen yet
  const int64_t dim_;
  int64_t row_;  // the row of the first value of the next call
};

}  // namespace encode
