#include "memory.h"

#include <fmt/format.h>
#include <map>
#include <mutex>
#include <sys/mman.h>

#include "record.h"

namespace runtime_stand_in {
namespace {

constexpr size_t kPage = 4096;

struct Block {
  size_t bytes;
  Place place;
};

// Lives until the process ends, because LibTorch frees memory in its destructors.
struct Memory {
  std::mutex mutex;
  std::map<uintptr_t, Block> blocks;
  size_t used = 0;  // of the device
};

Memory& memory() {
  static Memory* const instance = new Memory;
  return *instance;
}

}  // namespace

const char* name_of(Place place) {
  if (place == Place::kPageable) return "pageable";
  return place == Place::kPinned ? "pinned" : "device";
}

size_t device_bytes() {
  static const auto bytes = static_cast<size_t>(setting("RUNTIME_STAND_IN_MIB", 143771)) << 20U;
  return bytes;
}

bool take_device_bytes(size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  if (memory().used + bytes > device_bytes()) return false;
  memory().used += bytes;
  record(fmt::format("allocate device {}", bytes));
  return true;
}

void return_device_bytes(size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  memory().used -= bytes;
  record(fmt::format("free device {}", bytes));
}

size_t device_bytes_left() {
  const std::lock_guard lock(memory().mutex);
  return device_bytes() - memory().used;
}

void map_block(uintptr_t address, size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  memory().blocks[address] = {bytes, Place::kDevice};
}

void unmap_block(uintptr_t address) {
  const std::lock_guard lock(memory().mutex);
  memory().blocks.erase(address);
}

cudaError_t allocate(void** out, size_t bytes, Place place) {
  *out = nullptr;
  const size_t size = (bytes + kPage - 1) / kPage * kPage;
  if (size == 0) return cudaSuccess;
  if (place == Place::kDevice && !take_device_bytes(size)) return cudaErrorMemoryAllocation;
  if (place == Place::kPinned) record(fmt::format("allocate pinned {}", size));
  const int access = place == Place::kDevice ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* const block =
      ::mmap(nullptr, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return cudaErrorMemoryAllocation;
  const std::lock_guard lock(memory().mutex);
  memory().blocks[reinterpret_cast<uintptr_t>(block)] = {size, place};
  *out = block;
  return cudaSuccess;
}

cudaError_t release(void* block) {
  if (block == nullptr) return cudaSuccess;
  Block freed = {};
  {
    const std::lock_guard lock(memory().mutex);
    const auto found = memory().blocks.find(reinterpret_cast<uintptr_t>(block));
    if (found == memory().blocks.end()) return cudaErrorInvalidValue;
    freed = found->second;
    memory().blocks.erase(found);
  }
  if (freed.place == Place::kDevice) {
    return_device_bytes(freed.bytes);
  } else {
    record(fmt::format("free pinned {}", freed.bytes));
  }
  ::munmap(block, freed.bytes);
  return cudaSuccess;
}

Place place_of(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard lock(memory().mutex);
  auto after = memory().blocks.upper_bound(at);
  if (after == memory().blocks.begin()) return Place::kPageable;
  const auto& [begin, block] = *std::prev(after);
  return at < begin + block.bytes ? block.place : Place::kPageable;
}

}  // namespace runtime_stand_in
