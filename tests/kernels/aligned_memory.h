// Memory at an address that the kernels take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace encode::kernels {

// Owns `bytes` bytes that begin at a multiple of 64; their values are not defined.
class AlignedMemory {
 public:
  explicit AlignedMemory(int64_t bytes)
      : data_(static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kAlignment))) {}
  std::byte* get() const { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace encode::kernels
