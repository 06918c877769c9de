#include "shared_memory.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

#include "emulator.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace encode::emulator {
namespace {

constexpr std::byte kUnwritten{0xff};
constexpr size_t kGuardBytes = 256;
constexpr size_t kMostArrays = 16;
constexpr size_t kAlignment = 16;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void forbid([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region(begin, bytes);
#endif
}

void allow([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

std::string describe(std::source_location where) {
  return fmt::format("{}:{}", std::filesystem::path(where.file_name()).filename().string(),
                     where.line());
}

SharedMemory::SharedMemory() : bytes_(kMostBytes + (kMostArrays + 1) * (kGuardBytes + kAlignment)) {
  clear();
}

SharedMemory::~SharedMemory() { allow(bytes_.data(), bytes_.size()); }

void SharedMemory::clear() {
  allow(bytes_.data(), bytes_.size());
  std::fill(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(end_ + kGuardBytes),
            kUnwritten);
  forbid(bytes_.data(), bytes_.size());
  arrays_.clear();
  end_ = kGuardBytes;
  used_ = 0;
}

void* SharedMemory::array(const void* key, size_t bytes, std::source_location where) {
  const auto known = std::find_if(arrays_.begin(), arrays_.end(),
                                  [key](const Array& array) { return array.key == key; });
  if (known != arrays_.end()) return bytes_.data() + known->begin;
  if (used_ + bytes > kMostBytes || arrays_.size() == kMostArrays)
    throw KernelError(
        fmt::format("{}: the block has more than {} bytes or {} arrays of shared memory",
                    describe(where), kMostBytes, kMostArrays));
  const size_t begin = end_;
  std::byte* const array = bytes_.data() + begin;
  end_ = begin + aligned(bytes) + kGuardBytes;
  used_ += bytes;
  arrays_.push_back({key, begin, bytes, where});
  allow(bytes_.data() + begin, end_ - begin);
  std::memset(array, std::to_integer<int>(kUnwritten), end_ - begin);
  forbid(array + bytes, end_ - begin - bytes);
  return array;
}

std::string SharedMemory::damage() const {
  allow(bytes_.data(), bytes_.size());
  for (const Array& array : arrays_) {
    const auto after = bytes_.begin() + static_cast<ptrdiff_t>(array.begin + array.bytes);
    const auto before = bytes_.begin() + static_cast<ptrdiff_t>(array.begin - kGuardBytes);
    const auto intact = [](auto begin, auto end) {
      return std::all_of(begin, end, [](std::byte byte) { return byte == kUnwritten; });
    };
    if (!intact(after, after + kGuardBytes))
      return fmt::format("a write beyond the end of the shared array of {}", describe(array.where));
    if (&array == &arrays_.front() && !intact(before, before + kGuardBytes))
      return fmt::format("a write before the shared array of {}", describe(array.where));
  }
  return "";
}

}  // namespace encode::emulator
