#include "protocol/packed_blocks.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/base64.h"

namespace encode {
namespace {

using Block = InputScan::Checkpoint;

constexpr std::array kNumbers = {&Block::row, &Block::file, &Block::line, &Block::rows_in,
                                 &Block::offset_bytes};

constexpr int kDigitBits = 7;
constexpr unsigned kMoreFollows = 1U << kDigitBits;

void append_varint(std::string& bytes, uint64_t value) {
  for (; value >= kMoreFollows; value >>= kDigitBits)
    bytes += static_cast<char>(value % kMoreFollows | kMoreFollows);
  bytes += static_cast<char>(value);
}

// Takes the varint at the beginning of `bytes`. Returns false if there is none, or if
// append_varint() would not write its value with these bytes.
bool take_varint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += kDigitBits) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    const uint64_t digit = byte % kMoreFollows;
    if (digit << shift >> shift != digit) return false;
    value |= digit << shift;
    if (byte < kMoreFollows) return byte != 0 || shift == 0;
  }
  return false;
}

bool take_block(std::string_view& bytes, const Block& before, Block& block) {
  for (const auto number : kNumbers) {
    uint64_t step = 0;
    if (!take_varint(bytes, step)) return false;
    block.*number = static_cast<int64_t>(static_cast<uint64_t>(before.*number) + step);
  }
  if (bytes.size() < block.xxh3_128.size()) return false;
  std::memcpy(block.xxh3_128.data(), bytes.data(), block.xxh3_128.size());
  bytes.remove_prefix(block.xxh3_128.size());
  return true;
}

}  // namespace

std::string packed(const std::vector<Block>& blocks) {
  std::string bytes;
  Block before;
  for (const Block& block : blocks) {
    for (const auto number : kNumbers) {
      append_varint(bytes,
                    static_cast<uint64_t>(block.*number) - static_cast<uint64_t>(before.*number));
    }
    bytes.append(reinterpret_cast<const char*>(block.xxh3_128.data()), block.xxh3_128.size());
    before = block;
  }
  return base64_of(bytes);
}

bool unpack(std::string_view text, std::vector<Block>& blocks) {
  const std::optional<std::string> bytes = bytes_of_base64(text);
  if (!bytes) return false;
  blocks.clear();
  Block before;
  for (std::string_view left = *bytes; !left.empty();) {
    Block block;
    if (!take_block(left, before, block)) return false;
    blocks.push_back(block);
    before = block;
  }
  return true;
}

}  // namespace encode
