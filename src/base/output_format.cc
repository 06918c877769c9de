#include "base/output_format.h"

#include "base/input_format.h"

namespace encode {

std::optional<MatrixFormat> matrix_format_of(const std::string& path) {
  const std::string suffix = lower_case_suffix(path);
  if (suffix == ".npy") return MatrixFormat::kNpy;
  if (suffix == ".parquet") return MatrixFormat::kParquet;
  // Feather version 2 is another name of Arrow IPC files.
  if (suffix == ".arrow" || suffix == ".feather" || suffix == ".ipc") return MatrixFormat::kArrow;
  return std::nullopt;
}

}  // namespace encode
