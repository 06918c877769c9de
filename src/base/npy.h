// The header of .npy files (format version 1.0) that hold a matrix in C order. Any thread may call
// these functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/output_types.h"

namespace encode {

// The first bytes of every .npy file, before the version of the format.
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyHeader {
  ItemType item = ItemType::kFloat32;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t data_offset = 0;  // the number of bytes before the first element

  std::string_view item_word() const { return facts_of(item).word; }
  int64_t item_bytes() const { return facts_of(item).bytes; }
  int64_t data_bytes() const;  // rows x cols x item_bytes; throws Error kData on overflow
  int64_t file_bytes() const { return data_offset + data_bytes(); }
};

// Returns the bytes before the data of a matrix. There are always kNpyHeaderBytes of them, so that
// the header can be written last if the number of rows is not known before. Does not throw Error.
std::string make_npy_header(int64_t rows, int64_t cols, ItemType item);
// The same for a matrix of another type than those of ItemType, as NumPy writes it.
std::string make_npy_header(int64_t rows, int64_t cols, std::string_view descr);
// Returns the header of a file with a vector of `count` elements: 'shape': (count,). `descr` is
// their type, as NumPy writes it.
std::string make_npy_vector_header(int64_t count, std::string_view descr);
inline constexpr int64_t kNpyHeaderBytes = 128;

// Reads the header of a file and checks it strictly. The matrix must be 2-D and in C order, with
// an element type of kItemTypes. The size of the file must fit the header exactly.
// Throws Error kData "npy.header", and what open_for_reading() throws.
NpyHeader read_npy_header(const std::string& path);
NpyHeader read_npy_header(const UniqueFd& fd, const std::string& path);  // `path` is for messages

}  // namespace encode
