// What `encode tokenize` tells about the rows it wrote.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "encode/tokenizer.h"

namespace encode {

class TokenStatistics {
 public:
  // One row: the tokens that were kept, those cut off by max_length, and the bytes of its text.
  void add(int64_t kept_tokens, int64_t lost_tokens, int64_t text_bytes);

  // Lines of text: rows, lengths as bars, truncated rows, speed. `options` are those of the rows.
  std::string render(const TokenizeOptions& options, double tokenizing_seconds) const;

 private:
  struct Bucket {  // of rows whose whole length is in [first, last]
    int64_t first, last, rows;
  };
  static constexpr size_t kBuckets = 33;  // 0, 1, 2-3, 4-7, ..

  std::string render_bars() const;
  Bucket bucket(size_t i) const;

  std::array<int64_t, kBuckets> bucket_rows_{};
  int64_t rows_ = 0;
  int64_t kept_tokens_ = 0;
  int64_t lost_tokens_ = 0;
  int64_t truncated_rows_ = 0;
  int64_t longest_ = 0;
  int64_t text_bytes_ = 0;
};

}  // namespace encode
