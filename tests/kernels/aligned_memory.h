// Memory with the alignment that the kernels need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace encode::kernels {

// Owns `bytes` uninitialized bytes, aligned to 64 bytes.
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
