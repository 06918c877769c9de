#include "cache/record.h"

#include <algorithm>
#include <cstring>

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

}  // namespace

size_t record_bytes(size_t values) {
  const size_t bytes = sizeof(RecordHeader) + values * sizeof(float);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void write_record(std::span<std::byte> to, const CachedRow& row) {
  RecordHeader header;
  header.key = row.key;
  header.values = static_cast<uint32_t>(row.values.size());
  header.redone = row.redone ? 1 : 0;
  const std::span<std::byte> values = to.subspan(sizeof header);
  std::memcpy(to.data(), &header, sizeof header);
  std::memcpy(values.data(), row.values.data(), row.values.size_bytes());
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(row.values.size_bytes()), values.end(),
            std::byte{0});
  const auto checksum = xxh3_bytes(to.subspan(kHashedFrom));
  std::copy(checksum.begin(), checksum.end(), to.begin());
}

std::optional<CachedRow> read_record(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(RecordHeader)) return std::nullopt;
  const RecordHeader header = header_of(bytes);
  const size_t size = record_bytes(header.values);
  if (size > bytes.size() || header.redone > 1) return std::nullopt;
  if (xxh3_bytes(bytes.subspan(kHashedFrom, size - kHashedFrom)) != header.checksum)
    return std::nullopt;
  const void* values = bytes.data() + sizeof header;
  return CachedRow{.key = header.key,
                   .values = {static_cast<const float*>(values), header.values},
                   .redone = header.redone == 1};
}

bool visit_records(
    std::span<const std::byte> block,
    const std::function<void(size_t offset, std::span<const std::byte> record)>& visit) {
  size_t offset = 0;
  while (offset < block.size()) {
    const std::span<const std::byte> rest = block.subspan(offset);
    if (rest.size() < sizeof(RecordHeader)) return false;
    const size_t size = record_bytes(header_of(rest).values);
    if (size > rest.size()) return false;
    visit(offset, rest.first(size));
    offset += size;
  }
  return true;
}

EmbeddingKey key_of(std::span<const std::byte> record) { return header_of(record).key; }

}  // namespace encode
