// A vector for large tables with random access. It asks for huge pages, which avoid most page
// faults when the table is filled, and most TLB misses when it is read.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <vector>

#include "base/mapped_memory.h"

namespace encode {

// Throws std::bad_alloc as other allocators do.
template <typename T>
class LargeTableAllocator {
 public:
  using value_type = T;

  LargeTableAllocator() = default;
  // Not explicit, because containers convert allocators implicitly.
  template <typename Other>
  LargeTableAllocator(const LargeTableAllocator<Other>& /*other*/) {}

  T* allocate(size_t count) {
    if (count > static_cast<size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
    const size_t bytes = count * sizeof(T);
    if (bytes < kHugePageBytes) return static_cast<T*>(::operator new(bytes));
    const size_t rounded = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    void* memory = std::aligned_alloc(kHugePageBytes, rounded);
    if (memory == nullptr) throw std::bad_alloc();
    // Only a hint. If the kernel ignores it, the table has small pages and is slower.
    ::madvise(memory, rounded, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    if (count * sizeof(T) < kHugePageBytes) {
      ::operator delete(memory);
    } else {
      std::free(memory);
    }
  }
  bool operator==(const LargeTableAllocator&) const { return true; }
};

template <typename T>
using LargeTable = std::vector<T, LargeTableAllocator<T>>;

}  // namespace encode
