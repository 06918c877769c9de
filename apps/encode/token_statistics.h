// The statistics that `encode tokenize` prints about its rows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace encode {

class TokenStatistics {
 public:
  // `one` and `many` name the rows: "row" and "rows". Both must outlive the object.
  TokenStatistics(std::string_view one, std::string_view many) : one_(one), many_(many) {}

  // Adds one row: the number of tokens that were kept, the number of tokens that max_length cut
  // off, and the size of the text in bytes.
  void add(int64_t kept_tokens, int64_t lost_tokens, int64_t text_bytes);

  // Returns lines of text with the number of rows, a bar chart of their lengths, the truncated rows
  // and the speed. `max_length` must be the limit that the rows were tokenized with, 0 for none.
  std::string render(int64_t max_length, bool counts_lost_tokens, double tokenizing_seconds) const;

 private:
  // The number of rows with `first` to `last` tokens before truncation, both included.
  struct Bucket {
    int64_t first, last, rows;
  };
  static constexpr size_t kBuckets = 33;  // the buckets of 0, 1, 2-3, 4-7, .. tokens

  std::string render_bars() const;
  Bucket bucket(size_t i) const;

  std::string_view one_, many_;
  std::array<int64_t, kBuckets> bucket_rows_{};
  int64_t rows_ = 0;
  int64_t kept_tokens_ = 0;
  int64_t lost_tokens_ = 0;
  int64_t truncated_rows_ = 0;
  int64_t longest_ = 0;
  int64_t text_bytes_ = 0;
};

}  // namespace encode
