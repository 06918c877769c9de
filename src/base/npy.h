// The .npy header (format version 1.0) of a C-ordered 2-D matrix.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"

namespace encode {

struct NpyHeader {
  std::string descr = "<f4";  // NumPy type string
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t data_offset = 0;  // bytes before the first element; a multiple of 64

  int64_t item_bytes() const;  // 4 for "<f4", 2 for "<f2", 1 for "|i1" and "|u1"
  int64_t data_bytes() const;  // rows x cols x item_bytes, checked for overflow
  int64_t file_bytes() const { return data_offset + data_bytes(); }
};

// The bytes before the data, always 128 for matrices that fit in 2^63 elements, so that the header
// of a matrix whose row count is not known yet can be written last.
std::string make_npy_header(int64_t rows, int64_t cols, std::string_view descr);
// The same of a vector of `count` elements: 'shape': (count,).
std::string make_npy_vector_header(int64_t count, std::string_view descr);
inline constexpr int64_t kNpyHeaderBytes = 128;

// Reads and checks the header of a file: magic, version 1.0, header length, strict grammar,
// little-endian f4 or f2, i1 or u1, C order, 2-D, and that the file's size is exactly header +
// data. Throws Error (ExitCode::kData, code "npy.*").
NpyHeader read_npy_header(const std::string& path);
NpyHeader read_npy_header(const UniqueFd& fd, const std::string& path);  // path: for messages

}  // namespace encode
