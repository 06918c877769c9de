// Counts the lengths of the rows of an input, in bounded memory.
#pragma once

#include <array>
#include <cstdint>

#include "encode/config.h"

#include "base/stop_signal.h"

namespace encode {

// Counts rows by their length in bytes. A token id counts as 4 bytes. Not thread-safe.
class LengthCounts {
 public:
  // `bytes` is at least 0.
  void add(int64_t bytes);
  int64_t rows() const { return rows_; }
  int64_t bytes() const;
  // Returns the bytes of all rows after each row is truncated to `cap` bytes. The result is
  // approximate: rows with lengths up to a sixteenth apart may count as equally long.
  double bytes_up_to(double cap) const;

 private:
  struct Bucket {
    int64_t rows = 0;
    int64_t bytes = 0;
  };

  int64_t rows_ = 0;
  std::array<Bucket, 1024> buckets_{};
};

struct InputLengths {
  LengthCounts timed;  // the first rows, which are timed
  LengthCounts whole;  // all rows
};

// Counts the lengths of all rows of an input, and of its first `timed_rows` rows. Throws what
// TextReader throws, and Stopped if a signal arrives.
InputLengths count_lengths(const InputOptions& input, int64_t timed_rows, const StopSignal& stop);

}  // namespace encode
