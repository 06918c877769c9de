// The format of a row in the compact memory tier and on disk. Any thread may call these functions.
// They throw no Error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "cache/embedding_key.h"

namespace encode {

// A row of the cache: one vector, or with token embeddings the vectors of all its tokens. It does
// not own the values.
struct CachedRow {
  EmbeddingKey key;
  std::span<const float> values;
  bool redone = false;  // computed again in float32: RowStats::redone_rows counts the row
};

// The type in which a record stores its values. kFloat16 takes half the space, and is used only if
// it loses nothing: if every value is a float16 number, as with `semantic.vector_precision:
// float16`.
enum class RecordFormat : uint32_t { kFloat32 = 0, kFloat16 = 1 };

// The bytes before the values of a record, little-endian.
struct RecordHeader {
  std::array<std::byte, 16> checksum = {};  // XXH3-128 of all bytes of the record behind this field
  EmbeddingKey key;
  uint32_t values = 0;  // the number of values
  uint32_t redone = 0;  // 0 or 1
  RecordFormat format = RecordFormat::kFloat32;
  uint32_t unused = 0;
};
static_assert(sizeof(RecordHeader) == 64);

// Returns kFloat16 if every value is exactly a float16 number.
RecordFormat record_format(std::span<const float> values);

// Returns the size of a record, which is a multiple of eight bytes. Records that follow each other
// without a gap are a block.
size_t record_bytes(size_t values, RecordFormat format);

// Writes the record of a row to `to`, which has record_bytes() bytes for its values in `format`.
// The format is record_format(row.values) or kFloat32.
void write_record(std::span<std::byte> to, const CachedRow& row, RecordFormat format);

// A record that was read. It does not own the bytes.
struct StoredRow {
  EmbeddingKey key;
  std::span<const std::byte> bytes;  // the whole record
  size_t values = 0;                 // the number of values
  RecordFormat format = RecordFormat::kFloat32;
  bool redone = false;  // see CachedRow

  // Copies the values to `to`, whose size must be the number of values.
  void copy_to(std::span<float> to) const;
};

// Returns the row of the record at the start of `bytes`, or nullopt if the checksum, the key or a
// size is wrong.
std::optional<StoredRow> read_record(std::span<const std::byte> bytes);

// Calls `visit` with the offset and the bytes of each record of a block. If the size of a record
// cannot be right, stops before this record and returns false. Does not look at checksums.
bool visit_records(
    std::span<const std::byte> block,
    const std::function<void(size_t offset, std::span<const std::byte> record)>& visit);

// Returns the key in a record, without checking the checksum.
EmbeddingKey key_of(std::span<const std::byte> record);

}  // namespace encode
