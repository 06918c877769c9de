// Reads the ledgers of quarantined rows, and leaves such rows out of a matrix. LedgerWriter writes
// these ledgers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "encode/store.h"

namespace encode {

// Returns the line of a ledger for this row, with its newline. Long texts are cut.
std::string ledger_line(const SetAsideRow& row);

// Reads a ledger. Throws Error kData "store.damaged" if it does not fit the seal or is not a
// ledger. Also throws what read_sealed_file() throws.
std::vector<SetAsideRow> read_set_aside(const std::string& path, const FileSeal& seal);

// Passes on the rows of a matrix that are not in a list. Not thread-safe.
class RowFilter {
 public:
  // `rows` is ascending, and must outlive the filter. Row 0 is the first row that the filter gets.
  RowFilter(std::span<const int64_t> rows, int64_t dim) : rows_(rows), dim_(dim) {}

  // Takes the next rows, row-major [n, dim], and calls `pass` with each range of consecutive rows
  // that are not in the list.
  void take(std::span<const float> values, const std::function<void(std::span<const float>)>& pass);

 private:
  std::span<const int64_t> rows_;  // the rows of the list that the filter has not seen yet
  const int64_t dim_;
  int64_t row_ = 0;  // the row of the first value of the next call
};

}  // namespace encode
