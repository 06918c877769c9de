// A table with a value for each code point.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace encode::unicode {

// A two-stage table over all code points. Equal blocks are stored once. Immutable. Any number of
// threads may use it.
template <typename Value>
class CodePointTable {
 public:
  // Value i applies to the code points from start i up to, but not including, start i + 1. The
  // starts ascend from 0, and there are at most kMaxDistinctBlocks different blocks.
  CodePointTable(std::span<const uint32_t> starts, std::span<const Value> values);

  // Returns the value of `c`, which must be at most U+10FFFF, because the index is not checked.
  Value operator[](char32_t c) const {
    return values_[block_[c >> kBlockBits] + (c & (kBlockSize - 1))];
  }

 private:
  static constexpr int kBlockBits = 7;
  static constexpr size_t kBlockSize = size_t{1} << kBlockBits;
  static constexpr size_t kBlocks = 0x110000 >> kBlockBits;
  static constexpr size_t kMaxDistinctBlocks = 1024;

  uint32_t block_[kBlocks];  // the offset of each block in values_
  Value values_[kMaxDistinctBlocks * kBlockSize];
};

template <typename Value>
CodePointTable<Value>::CodePointTable(std::span<const uint32_t> starts,
                                      std::span<const Value> values) {
  std::vector<Value> flat(0x110000);
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t end = i + 1 < starts.size() ? starts[i + 1] : flat.size();
    std::fill(flat.begin() + starts[i], flat.begin() + static_cast<ptrdiff_t>(end), values[i]);
  }
  std::map<std::string_view, uint32_t> seen;  // bytes of a block -> its offset in values_
  uint32_t used = 0;
  for (size_t b = 0; b < kBlocks; ++b) {
    const Value* block = flat.data() + b * kBlockSize;
    const std::string_view bytes(reinterpret_cast<const char*>(block), kBlockSize * sizeof(Value));
    const auto [entry, fresh] = seen.emplace(bytes, used);
    if (fresh) {
      std::memcpy(values_ + used, block, bytes.size());
      used += kBlockSize;
    }
    block_[b] = entry->second;
  }
}

}  // namespace encode::unicode
