// The rows in the batches of a window, and their vectors: the values that the stages of
// WindowEncoder pass on. Any thread may call the functions. They throw no Error.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "encode/batch.h"
#include "encode/error_code.h"

#include "batching/duplicates.h"

namespace encode {

// A row of a PackedBatch. Rows and vectors are counted from the start of the window.
struct PackedRow {
  int64_t row = 0;
  int64_t tokens = 0;
  int64_t first_vector = 0;
  int64_t vectors = 1;

  bool operator==(const PackedRow&) const = default;
};

// A row that the device cannot encode, or whose vector is wrong.
struct FailedRow {
  PackedRow place;
  ErrorCode code;
  std::string message;  // one phrase

  bool operator==(const FailedRow&) const = default;
};

// Returns the rows in the order of the batches.
std::vector<PackedRow> rows_of(std::span<const PackedBatch> batches);
// Returns the rows that are not in `failed`, in the same order.
std::vector<PackedRow> without(std::vector<PackedRow> rows, std::span<const FailedRow> failed);
// Returns the PackedRow::row of each failed row.
std::set<int64_t> numbers_of(std::span<const FailedRow> failed);

// Returns the failed rows and their duplicates, in ascending order.
std::vector<FailedRow> with_duplicates(std::vector<FailedRow> failed,
                                       std::span<const DuplicateRow> duplicates);

// The vectors of a window, in the shape that Encoder::encode() gives them.
struct WindowValues {
  int64_t dim = 0;
  std::vector<float> floats;  // [vectors of the window, dim]

  // Returns the vectors of a row.
  std::span<float> of(const PackedRow& row);
  std::span<const float> of(const PackedRow& row) const;
};

}  // namespace encode
