#include "base/mapped_memory.h"

#include <cstdint>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace encode {

std::shared_ptr<std::byte> map_memory(size_t bytes) {
  const bool huge = bytes >= kHugePageBytes;
  const size_t mapped = bytes + (huge ? kHugePageBytes : 0);
  void* const pages =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  std::shared_ptr<std::byte> whole(static_cast<std::byte*>(pages),
                                   [mapped](std::byte* p) { ::munmap(p, mapped); });
  if (!huge) return whole;
  const size_t past = reinterpret_cast<uintptr_t>(pages) % kHugePageBytes;
  std::byte* const begin = whole.get() + (past == 0 ? 0 : kHugePageBytes - past);
  ::madvise(begin, bytes, MADV_HUGEPAGE);  // only a hint, so a failure is ignored
  return {std::move(whole), begin};
}

}  // namespace encode
