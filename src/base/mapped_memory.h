// Memory that comes from the kernel and not from the heap.
#pragma once

#include <cstddef>
#include <memory>

namespace encode {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Returns `bytes` zeroed bytes that begin at a page, which go back to the kernel with the last
// pointer. From kHugePageBytes on they begin at the border of a huge page and are in huge pages if
// the system has them: a huge page needs one page fault for 2 MB instead of one for every 4 kB.
//
// Large buffers that come and go between others that stay leave holes in a heap, into which the
// next ones may not fit. So a model is loaded into memory of this kind. Throws std::bad_alloc. Any
// thread may call it.
std::shared_ptr<std::byte> map_memory(size_t bytes);

}  // namespace encode
