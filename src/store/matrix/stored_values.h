// The numbers that the rows of a matrix file stand for, whatever its type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "encode/store.h"
#include "encode/types.h"

#include "columnar/matrix_reader.h"
#include "store/quantize.h"

namespace encode {

// Immutable, so any thread may use it.
class StoredValues {
 public:
  // Decodes the values of the final matrix at `path`. Throws what Ranges::of_final() throws.
  StoredValues(const std::string& path, const Manifest& manifest);
  // Decodes the values of `matrix`. Floats need no manifest. Integers need one, because only the
  // manifest says what they stand for. Throws Error kData "npy.matrix" if it is missing or
  // describes other columns, and what read_manifest() and Ranges::of_final() throw.
  static StoredValues of_file(const MatrixReader& matrix);

  OutputType type() const { return type_; }
  int64_t dim() const { return dim_; }  // the numbers of a row

  // Returns the numbers that whole rows stand for, row-major [rows, dim()]: what as_floats()
  // returns, converted by Dequantizer. `rows` are bytes as in StoredRows. The result is a view of
  // `rows` or of `buffer`, which is resized.
  std::span<const float> convert(std::span<const std::byte> rows, std::vector<float>& buffer) const;

 private:
  StoredValues(OutputType type, int64_t dim, const Ranges& ranges);

  OutputType type_;
  int64_t dim_;
  Dequantizer dequantizer_;
};

}  // namespace encode
