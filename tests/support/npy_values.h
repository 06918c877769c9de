// The values in a .npy file.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace encode::testing {

// Reads the values of a .npy file of any shape as values of the type T. The bytes 8 and 9 of the
// file say how long the text is that comes before the values.
template <typename T>
std::vector<T> npy_values(const std::string& path) {
  const std::string bytes = read_bytes(path);
  uint16_t text_bytes = 0;
  std::memcpy(&text_bytes, bytes.data() + 8, sizeof text_bytes);
  const size_t begin = 10 + size_t{text_bytes};
  std::vector<T> values((bytes.size() - begin) / sizeof(T));
  std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(T));
  return values;
}

}  // namespace encode::testing
