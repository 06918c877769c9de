// Reads the ledgers of quarantined rows, and leaves such rows out of a matrix. LedgerWriter writes
// these ledgers.
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

// Passes the rows of a matrix on, without the dropped ones. Not thread-safe.
class RowFilter {
 public:
  // `rows` must outlive the filter, which gets each of its rows in order.
  RowFilter(const VectorRows& rows, int64_t dim)
      : dropped_(rows.dropped()), dim_(dim), row_(rows.range().begin) {}

  // Takes the next rows, row-major [n, dim], and calls `pass` with each run of rows that stay.
  void take(std::span<const float> values, const std::function<void(std::span<const float>)>& pass);

 private:
  std::span<const int64_t> dropped_;  // those that are still to come
  const int64_t dim_;
  int64_t row_;  // the row of the first value of the next call
};

}  // namespace encode
