// Which row of the input each vector of a matrix belongs to. All code that finds the text of a
// vector, or the vector of a text, goes through this header, so that no vector is shown with the
// text of another row. Any thread may call the functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/store.h"

namespace encode {

// The rows of a stream, some of which have no vector. Immutable, so any number of threads may use
// it.
class VectorRows {
 public:
  // Every row in `range` has a vector, in this order, except those in `dropped`. Throws Error kData
  // "store.damaged" if `dropped` is not ascending, or has a row that is not in the range; `where`
  // is the file that has the list.
  VectorRows(RowRange range, std::vector<int64_t> dropped, const std::string& where);

  RowRange range() const { return range_; }
  int64_t vectors() const { return range_.size() - std::ssize(dropped_); }
  const std::vector<int64_t>& dropped() const { return dropped_; }

  int64_t row_of(int64_t vector) const;  // `vector` must be in [0, vectors())
  // Returns nullopt for a row that was dropped, or that is not in range().
  std::optional<int64_t> vector_of(int64_t row) const;

 private:
  RowRange range_;
  std::vector<int64_t> dropped_;
};

// Returns SetAsideRow::row of each entry.
std::vector<int64_t> row_numbers(const std::vector<SetAsideRow>& rows);

// Reads the list of the dropped rows of a matrix, which must have one vector for each row. A
// combined matrix has the list of its first part, which must be in the same folder. The path may
// also be that of a list of parts (x.parts.json): the rows are then those of all parts. Throws
// Error kData "store.damaged" if the list is missing, does not fit the manifest or has another
// number of rows than the manifest states, or if the first part is not the one that was combined.
// Also throws what set_aside_rows() and read_manifest() throw.
VectorRows read_vector_rows(const std::string& matrix_path, const Manifest& manifest);

}  // namespace encode
