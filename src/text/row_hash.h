// The hash of the rows of a block, by which a later pass recognises the rows of the scan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/hash.h"

namespace encode {

// XXH3-128 of the rows with the kind and the size of each, so that blocks with other rows have
// another hash, except by a collision, which chance does not make. Not thread-safe.
class RowHash {
 public:
  void add(std::string_view utf8) { add('t', utf8.data(), utf8.size()); }
  void add(std::span<const int32_t> input_ids) {
    add('i', input_ids.data(), input_ids.size_bytes());
  }
  // Adds the place of the field that is cut in the text that is added next. Only for an input with
  // InputOptions::passage_field.
  void add_frame(int64_t bytes_before, int64_t bytes_after) {
    const std::array<int64_t, 2> frame = {bytes_before, bytes_after};
    add('f', frame.data(), sizeof frame);
  }
  // Adds the number of the record of the row that is added next. Only for an input with a filter.
  void add_record(int64_t number) { add('r', &number, sizeof number); }
  std::array<std::byte, 16> bytes() const { return hash_.bytes(); }  // of all rows so far

 private:
  void add(char kind, const void* data, uint64_t size) {
    hash_.update(&kind, sizeof kind);
    hash_.update(&size, sizeof size);
    hash_.update(data, size);
  }

  Xxh3 hash_;
};

}  // namespace encode
