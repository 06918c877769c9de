// What can give host memory back when the host has little left.
#pragma once

#include <cstdint>

namespace encode {

// A cache or a pool of buffers whose memory the PressureGuard limits.
class Shrinkable {
 public:
  virtual ~Shrinkable() = default;

  // Frees what it holds over `bytes`, and holds at most `bytes` until the next call. A larger
  // number lets it grow again. Returns the bytes that it then holds. Any thread may call it, and it
  // must return soon, because it is called between two batches. Throws no Error.
  virtual int64_t shrink_to(int64_t bytes) = 0;
};

}  // namespace encode
