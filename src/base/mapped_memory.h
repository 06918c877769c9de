// Memory that comes from the kernel and not from the heap.
#pragma once

#include <cstddef>
#include <memory>

namespace encode {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Returns `bytes` zeroed bytes that begin at a page, and that return to the kernel when the last
// pointer is destroyed. If there are at least kHugePageBytes, they begin at the border of a huge
// page, and are in huge pages if the system has them: a huge page takes one page fault for 2 MB
// instead of one for every 4 kB.
//
// A model is loaded into memory of this kind, because large temporary buffers would leave holes in
// a heap, into which later buffers may not fit. Throws std::bad_alloc. Any thread may call it.
std::shared_ptr<std::byte> map_memory(size_t bytes);

}  // namespace encode
