// How long the rows of an input are, in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "encode/config.h"

#include "supervisor/stop_signal.h"

namespace encode {

// Rows by their length in bytes (a token id counts as 4).
class LengthCounts {
 public:
  void add(int64_t bytes);
  int64_t rows() const { return rows_; }
  int64_t bytes() const;
  // Bytes of all rows, each counted up to `cap`: what is left after a truncation there. Rows whose
  // lengths differ by a sixteenth at most count as equally long.
  double bytes_up_to(double cap) const;

 private:
  struct Bucket {
    int64_t rows = 0;
    int64_t bytes = 0;
  };

  int64_t rows_ = 0;
  std::array<Bucket, 1024> buckets_{};
};

// Of the first rows, which are timed, and of all.
struct InputLengths {
  LengthCounts timed;
  LengthCounts whole;
};

// Reads the whole input. Throws what reading it throws, and Stopped.
InputLengths count_lengths(const InputOptions& input, int64_t timed_rows, const StopSignal& stop);

}  // namespace encode
