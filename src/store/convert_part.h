// Converts one part of a larger matrix. The ranges of a quantized type are those of all parts, so
// the parts stay float32 until the rows of all of them are known. Any thread may call these
// functions.
#pragma once

#include <string>

#include "encode/store.h"

#include "store/quantize.h"

namespace encode {

// Returns the ranges of the rows of a float32 final matrix. Throws Error kData "store.damaged" if
// it is not finished or does not have its hash, and what open_matrix_reader() throws.
Ranges ranges_of_rows(const std::string& float32_path);

struct Conversion {
  const FinalFormat& format;
  const Ranges* ranges = nullptr;  // as in FinalSource
  ColumnOpener columns = {};       // as in reformat_final()
  // True: the columns are those of the vectors, not of the rows, and a text is that of the passage.
  bool columns_of_vectors = false;
};

// Does what reformat_final() does.
void convert_part(const std::string& float32_path, const std::string& matrix_path,
                  const Conversion& conversion);

}  // namespace encode
