// The shared memory of a block, with guard zones around each array.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <vector>

namespace encode::emulator {

// Marks memory that no code may touch, if the program is built with AddressSanitizer.
void forbid(const void* begin, size_t bytes);
void allow(const void* begin, size_t bytes);

class SharedMemory {
 public:
  static constexpr size_t kMostBytes = size_t{48} * 1024;  // of a block on every GPU

  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void clear();  // forgets all arrays

  // Returns the array with that key, aligned to 16 bytes. The first call makes it and fills it with
  // 0xff. Throws KernelError if the block has more than kMostBytes in all.
  void* array(const void* key, size_t bytes, std::source_location where);

  // Returns what is wrong if somebody has written into a guard zone, else "".
  std::string damage() const;

 private:
  struct Array {
    const void* key;
    size_t begin;
    size_t bytes;
    std::source_location where;
  };

  std::vector<std::byte> bytes_;
  std::vector<Array> arrays_;
  size_t end_ = 0;   // of the last array and its guard zone
  size_t used_ = 0;  // bytes of all arrays
};

// "norm.cu:31"
std::string describe(std::source_location where);

}  // namespace encode::emulator
