// An interface for caches that can free host memory when the host has little left.
#pragma once

#include <cstdint>

namespace encode {

// A cache or a pool of buffers whose memory the PressureGuard limits.
class Shrinkable {
 public:
  virtual ~Shrinkable() = default;

  // Limits the memory to `bytes` until the next call, and frees what is over the limit. A larger
  // number lets the cache grow again. Returns the bytes in use after the call. Any thread may call
  // it, and it must return soon, because it is called between two batches. Throws no Error.
  virtual int64_t shrink_to(int64_t bytes) = 0;
};

}  // namespace encode
