#include "base/output_format.h"

#include "base/input_format.h"
#include "base/units.h"

namespace encode {

std::string matrix_suffixes() { return list_in_words(names_of(kMatrixSuffixes), "or"); }

std::optional<MatrixFormat> matrix_format_of(const std::string& path) {
  return find_value(kMatrixSuffixes, lower_case_suffix(path));
}

}  // namespace encode
