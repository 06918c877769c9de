// Finds the file format of a final matrix from the suffix of its name. Any thread may call this
// function.
#pragma once

#include <optional>
#include <string>

#include "encode/types.h"

namespace encode {

// The suffixes that state a format, for messages.
inline constexpr const char* kMatrixSuffixes = ".npy, .parquet, .arrow, .feather or .ipc";

// Returns nullopt if the name ends in none of kMatrixSuffixes. Case does not matter. Throws no
// Error.
std::optional<MatrixFormat> matrix_format_of(const std::string& path);

}  // namespace encode
