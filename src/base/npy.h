// The header of .npy files (format version 1.0) that hold a matrix in C order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"

namespace encode {

// The bytes of an element of the type "<f4", "<f2", "|i1" or "|u1".
constexpr int64_t npy_item_bytes(std::string_view descr) {
  return descr == "<f4" ? 4 : descr == "<f2" ? 2 : 1;
}

struct NpyHeader {
  std::string descr = "<f4";  // the element type, as NumPy writes it
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t data_offset = 0;  // the number of bytes before the first element

  int64_t item_bytes() const { return npy_item_bytes(descr); }
  int64_t data_bytes() const;  // rows x cols x item_bytes; throws Error kData on overflow
  int64_t file_bytes() const { return data_offset + data_bytes(); }
};

// The bytes before the data of a matrix. There are always kNpyHeaderBytes of them, so that the
// header can be written last if the number of rows is not known before. `descr` is one of the types
// of item_bytes(). Does not throw Error.
std::string make_npy_header(int64_t rows, int64_t cols, std::string_view descr);
// Returns the header of a file with a vector of `count` elements: 'shape': (count,).
std::string make_npy_vector_header(int64_t count, std::string_view descr);
inline constexpr int64_t kNpyHeaderBytes = 128;

// Reads the header of a file and checks it strictly. The matrix must be 2-D and in C order, with
// the element type "<f4", "<f2", "|i1" or "|u1". The size of the file must fit the header exactly.
// Throws Error kData "npy.header", and what open_for_reading() throws.
NpyHeader read_npy_header(const std::string& path);
NpyHeader read_npy_header(const UniqueFd& fd, const std::string& path);  // `path` is for messages

}  // namespace encode
