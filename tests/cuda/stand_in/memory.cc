// The caching allocator of the stand-in, for device memory and for pinned host memory.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include "device.h"

namespace stand_in {
namespace {

// Allocates blocks of host memory and keeps freed blocks for later requests, as LibTorch's
// allocators do. A request gets a free block of at most twice its size, or else a new block.
class BlockCache {
 public:
  struct Bytes {
    int64_t used = 0;
    int64_t peak_used = 0;
    int64_t reserved = 0;
  };
  struct Taken {
    void* block;
    bool fresh;  // true if the block is new
  };

  // Returns a block, or null if the reserved bytes would exceed `limit`.
  Taken take(size_t bytes, int64_t limit) {
    const size_t size = rounded(bytes);
    const std::lock_guard lock(mutex_);
    auto kept = free_.lower_bound(size);
    const bool fresh = kept == free_.end() || kept->first > 2 * size;
    if (fresh) {
      if (bytes_.reserved + static_cast<int64_t>(size) > limit) release_kept();
      if (bytes_.reserved + static_cast<int64_t>(size) > limit) return {nullptr, true};
      bytes_.reserved += static_cast<int64_t>(size);
      kept = free_.emplace(size, std::aligned_alloc(kAlignment, size));
    }
    const auto [taken_size, block] = *kept;
    free_.erase(kept);
    used_.emplace(block, taken_size);
    bytes_.used += static_cast<int64_t>(taken_size);
    bytes_.peak_used = std::max(bytes_.peak_used, bytes_.used);
    std::memset(block, kNan, taken_size);
    return {block, fresh};
  }

  void give_back(void* block) {
    const std::lock_guard lock(mutex_);
    const auto entry = used_.find(block);
    std::memset(block, kNan, entry->second);
    bytes_.used -= static_cast<int64_t>(entry->second);
    free_.emplace(entry->second, block);
    used_.erase(entry);
  }

  void empty() {
    const std::lock_guard lock(mutex_);
    release_kept();
  }

  // Returns true if `data` is in a block that is in use.
  bool holds(const void* data) {
    const std::lock_guard lock(mutex_);
    auto after = used_.upper_bound(const_cast<void*>(data));
    if (after == used_.begin()) return false;
    const auto [block, size] = *std::prev(after);
    return data < static_cast<const char*>(block) + size;
  }

  Bytes bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  static constexpr size_t kAlignment = 512;  // the alignment of cudaMalloc()
  static constexpr int kNan = 0xff;          // all bits set: NaN in every floating-point type

  static size_t rounded(size_t bytes) {
    return std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  }

  void release_kept() {
    for (const auto& [size, block] : free_) {
      bytes_.reserved -= static_cast<int64_t>(size);
      std::free(block);
    }
    free_.clear();
  }

  std::mutex mutex_;
  std::map<void*, size_t> used_;
  std::multimap<size_t, void*> free_;
  Bytes bytes_;
};

BlockCache& device_blocks() {
  static auto* const cache = new BlockCache;  // never deleted, so that it outlives every tensor
  return *cache;
}

BlockCache& pinned_blocks() {
  static auto* const cache = new BlockCache;
  return *cache;
}

void release_device(void* block) { device_blocks().give_back(block); }
void release_pinned(void* block) { pinned_blocks().give_back(block); }

class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(c10::kCUDA, current_device());
    if (bytes == 0) return {nullptr, device};
    const bool fails = ++counters().requests == settings().fail_allocation && may_fail();
    const BlockCache::Taken taken =
        fails ? BlockCache::Taken{} : device_blocks().take(bytes, settings().memory_bytes);
    TORCH_CHECK_WITH(OutOfMemoryError, taken.block != nullptr,
                     "CUDA out of memory. Tried to allocate ", bytes, " bytes. GPU ",
                     static_cast<int>(device.index()), " has a total capacity of ",
                     settings().memory_bytes, " bytes");
    if (taken.fresh) ++counters().device_allocations;
    return {taken.block, taken.block, &release_device, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_device; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { device_blocks().empty(); }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    const BlockCache::Bytes bytes = device_blocks().bytes();
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[0].current = bytes.used;
    stats.allocated_bytes[0].peak = bytes.peak_used;
    stats.reserved_bytes[0].current = bytes.reserved;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}

 private:
};

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, c10::Device(c10::kCPU)};
    const BlockCache::Taken taken = pinned_blocks().take(bytes, INT64_MAX);
    if (taken.fresh) ++counters().pinned_allocations;
    return {taken.block, taken.block, &release_pinned, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_pinned; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

}  // namespace

c10::DeviceAllocator& device_allocator() {
  static auto* const allocator = new DeviceAllocator;
  return *allocator;
}

c10::Allocator& pinned_allocator() {
  static auto* const allocator = new PinnedAllocator;
  return *allocator;
}

bool is_pinned(const void* data) { return pinned_blocks().holds(data); }

}  // namespace stand_in
