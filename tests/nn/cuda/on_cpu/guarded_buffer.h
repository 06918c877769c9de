// An input or output of a kernel, with guard zones before and after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>

#include "nn/cuda/plugin.h"

namespace encode::testing {

size_t bytes_of(EncodeCudaType type);

// An array that is aligned to 16 bytes. The guard zones are filled with 0xff, which is NaN in every
// type. With AddressSanitizer, an access to a guard zone ends the program.
class GuardedBuffer {
 public:
  // Makes an array, and also fills its elements with 0xff.
  GuardedBuffer(size_t count, size_t element_bytes);
  GuardedBuffer(const GuardedBuffer& other);
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer();

  // Fills the elements with numbers of the normal distribution.
  static GuardedBuffer random(int64_t count, EncodeCudaType type, std::mt19937_64& random);

  void* data() const { return begin_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }
  size_t bytes() const { return bytes_; }
  float get(EncodeCudaType type, size_t index) const;
  void set(EncodeCudaType type, size_t index, float value);

  bool intact() const;  // true if the guard zones have not been written to

 private:
  size_t bytes_;
  size_t room_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* begin_;
};

}  // namespace encode::testing
