#include "cache/cache_record.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/half.h"
#include "base/hash.h"

namespace encode {
namespace {

constexpr size_t kAlignment = 8;
constexpr size_t kHashedFrom = sizeof(RecordHeader::checksum);

RecordHeader header_of(std::span<const std::byte> record) {
  RecordHeader header;
  std::memcpy(&header, record.data(), sizeof header);
  return header;
}

size_t value_bytes(RecordFormat format) {
  return format == RecordFormat::kFloat16 ? sizeof(uint16_t) : sizeof(float);
}

}  // namespace

RecordFormat record_format(std::span<const float> values) {
  const bool halves = std::all_of(values.begin(), values.end(), [](float value) {
    return std::bit_cast<uint32_t>(half_value(half_bits(value))) == std::bit_cast<uint32_t>(value);
  });
  return halves ? RecordFormat::kFloat16 : RecordFormat::kFloat32;
}

size_t record_bytes(size_t values, RecordFormat format) {
  const size_t bytes = sizeof(RecordHeader) + values * value_bytes(format);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void write_record(std::span<std::byte> to, const CachedRow& row, RecordFormat format) {
  RecordHeader header;
  header.key = row.key;
  header.values = static_cast<uint32_t>(row.values.size());
  header.redone = row.redone ? 1 : 0;
  header.format = format;
  std::fill(to.begin(), to.end(), std::byte{0});
  std::memcpy(to.data(), &header, sizeof header);
  std::byte* values = to.data() + sizeof header;
  if (format == RecordFormat::kFloat32) {
    std::memcpy(values, row.values.data(), row.values.size_bytes());
  } else {
    for (const float value : row.values) {
      const uint16_t half = half_bits(value);
      std::memcpy(values, &half, sizeof half);
      values += sizeof half;
    }
  }
  const auto checksum = xxh3_bytes(to.subspan(kHashedFrom));
  std::copy(checksum.begin(), checksum.end(), to.begin());
}

void StoredRow::copy_to(std::span<float> to) const {
  const std::byte* from = bytes.data() + sizeof(RecordHeader);
  if (format == RecordFormat::kFloat32) {
    std::memcpy(to.data(), from, to.size_bytes());
    return;
  }
  for (float& value : to) {
    uint16_t half = 0;
    std::memcpy(&half, from, sizeof half);
    from += sizeof half;
    value = half_value(half);
  }
}

std::optional<StoredRow> read_record(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(RecordHeader)) return std::nullopt;
  const RecordHeader header = header_of(bytes);
  if (header.format > RecordFormat::kFloat16 || header.redone > 1) return std::nullopt;
  const size_t size = record_bytes(header.values, header.format);
  if (size > bytes.size()) return std::nullopt;
  if (xxh3_bytes(bytes.subspan(kHashedFrom, size - kHashedFrom)) != header.checksum)
    return std::nullopt;
  return StoredRow{.key = header.key,
                   .bytes = bytes.first(size),
                   .values = header.values,
                   .format = header.format,
                   .redone = header.redone == 1};
}

bool visit_records(
    std::span<const std::byte> block,
    const std::function<void(size_t offset, std::span<const std::byte> record)>& visit) {
  size_t offset = 0;
  while (offset < block.size()) {
    const std::span<const std::byte> rest = block.subspan(offset);
    if (rest.size() < sizeof(RecordHeader)) return false;
    const RecordHeader header = header_of(rest);
    if (header.format > RecordFormat::kFloat16) return false;
    const size_t size = record_bytes(header.values, header.format);
    if (size > rest.size()) return false;
    visit(offset, rest.first(size));
    offset += size;
  }
  return true;
}

EmbeddingKey key_of(std::span<const std::byte> record) { return header_of(record).key; }

}  // namespace encode
