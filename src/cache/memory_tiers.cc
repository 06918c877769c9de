#include "cache/memory_tiers.h"

#include <algorithm>
#include <utility>

namespace encode {
namespace {

// The memory of a row in addition to its values: the slot, the node and the bucket of the map, and
// the overhead of malloc.
constexpr int64_t kRowBytes = 192;
constexpr int64_t kPlaceBytes = 112;

}  // namespace

RowTier::RowTier(int64_t limit_bytes, Evicted evicted)
    : evicted_(std::move(evicted)), limit_bytes_(limit_bytes) {}

int64_t RowTier::bytes_of(size_t values) {
  return kRowBytes + static_cast<int64_t>(values * sizeof(float));
}

std::optional<CachedRow> RowTier::find(const EmbeddingKey& key) {
  const auto place = places_.find(key);
  if (place == places_.end()) return std::nullopt;
  Slot& slot = slots_[place->second];
  slot.used = true;
  return CachedRow{.key = slot.key, .values = slot.values, .redone = slot.redone};
}

void RowTier::put(const CachedRow& row) {
  if (const auto place = places_.find(row.key); place != places_.end()) {
    Slot& slot = slots_[place->second];
    bytes_ += bytes_of(row.values.size()) - bytes_of(slot.values.size());
    slot.values.assign(row.values.begin(), row.values.end());
    slot.redone = row.redone;
    return shrink(limit_bytes_);
  }
  const int64_t size = bytes_of(row.values.size());
  if (size > limit_bytes_) return evicted_(row);
  shrink(limit_bytes_ - size);
  places_[row.key] = slots_.size();
  slots_.push_back(
      {.key = row.key, .values = {row.values.begin(), row.values.end()}, .redone = row.redone});
  bytes_ += size;
}

void RowTier::set_limit(int64_t limit_bytes) {
  limit_bytes_ = limit_bytes;
  shrink(limit_bytes_);
}

void RowTier::shrink(int64_t bytes) {
  while (bytes_ > bytes && !slots_.empty()) evict_one();
}

void RowTier::evict_one() {
  while (true) {
    if (hand_ >= slots_.size()) hand_ = 0;
    Slot& slot = slots_[hand_];
    if (!std::exchange(slot.used, false)) break;
    ++hand_;
  }
  Slot& slot = slots_[hand_];
  evicted_({.key = slot.key, .values = slot.values, .redone = slot.redone});
  bytes_ -= bytes_of(slot.values.size());
  places_.erase(slot.key);
  if (hand_ + 1 < slots_.size()) {
    slot = std::move(slots_.back());
    places_[slot.key] = hand_;
  }
  slots_.pop_back();
}

RecordTier::RecordTier(int64_t limit_bytes, size_t block_bytes)
    : limit_bytes_(limit_bytes), block_bytes_(block_bytes) {}

std::optional<std::span<const std::byte>> RecordTier::find(const EmbeddingKey& key) const {
  const auto found = places_.find(key);
  if (found == places_.end()) return std::nullopt;
  const Place& place = found->second;
  const std::vector<std::byte>& block = blocks_[static_cast<size_t>(place.block - first_block_)];
  return std::span(block).subspan(place.offset, place.bytes);
}

void RecordTier::put(const CachedRow& row) {
  if (places_.contains(row.key)) return;
  const RecordFormat format = record_format(row.values);
  const size_t size = record_bytes(row.values.size(), format);
  if (static_cast<int64_t>(size) + kPlaceBytes > limit_bytes_) return;
  std::vector<std::byte>& block = block_for(size);
  const size_t offset = block.size();
  block.resize(offset + size);
  write_record(std::span(block).subspan(offset), row, format);
  places_[row.key] = {.block = first_block_ + blocks_.size() - 1, .offset = offset, .bytes = size};
  bytes_ += kPlaceBytes;
}

// Returns the newest block, which has room for a record of this size.
std::vector<std::byte>& RecordTier::block_for(size_t bytes) {
  const bool fits = !blocks_.empty() && blocks_.back().size() + bytes <= blocks_.back().capacity();
  const size_t capacity = std::max(block_bytes_, bytes);
  shrink(limit_bytes_ - kPlaceBytes - (fits ? 0 : static_cast<int64_t>(capacity)));
  if (fits && !blocks_.empty()) return blocks_.back();
  blocks_.emplace_back().reserve(capacity);
  bytes_ += static_cast<int64_t>(capacity);
  return blocks_.back();
}

void RecordTier::set_limit(int64_t limit_bytes) {
  limit_bytes_ = limit_bytes;
  shrink(limit_bytes_);
}

void RecordTier::shrink(int64_t bytes) {
  while (bytes_ > bytes && !blocks_.empty()) drop_oldest();
}

void RecordTier::drop_oldest() {
  visit_records(blocks_.front(), [this](size_t /*offset*/, std::span<const std::byte> record) {
    places_.erase(key_of(record));
    bytes_ -= kPlaceBytes;
  });
  bytes_ -= static_cast<int64_t>(blocks_.front().capacity());
  blocks_.pop_front();
  ++first_block_;
}

std::vector<std::span<const std::byte>> RecordTier::blocks() const {
  std::vector<std::span<const std::byte>> all;
  for (const std::vector<std::byte>& block : blocks_) all.emplace_back(block);
  return all;
}

}  // namespace encode
