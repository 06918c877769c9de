// The emulated shared memory of a block, with guard zones around each array.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <vector>

namespace encode::emulator {

// forbid() and allow() mark memory for AddressSanitizer, with which an access to forbidden memory
// ends the program. Without AddressSanitizer they do nothing.
void forbid(const void* begin, size_t bytes);
void allow(const void* begin, size_t bytes);

class SharedMemory {
 public:
  static constexpr size_t kMostBytes = size_t{48} * 1024;  // the limit of a block on every GPU

  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void clear();  // forgets all arrays

  // Returns the array with this key, aligned to 16 bytes. The first call makes the array and fills
  // it with 0xff. Throws KernelError if all arrays together have more than kMostBytes.
  void* array(const void* key, size_t bytes, std::source_location where);

  // Returns "" if no guard zone has been written to, else a description of the damage.
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
  size_t end_ = 0;   // the end of the last guard zone
  size_t used_ = 0;  // the bytes of all arrays
};

// Returns file and line, such as "norm.cu:31".
std::string describe(std::source_location where);

}  // namespace encode::emulator
