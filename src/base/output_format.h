// Finds the file format of a final matrix from the suffix of its name. Any thread may call these
// functions.
#pragma once

#include <optional>
#include <string>

#include "encode/types.h"

#include "base/names.h"

namespace encode {

// The suffixes that state a format. Feather version 2 is another name of Arrow IPC files.
inline constexpr NameTable<MatrixFormat, 5> kMatrixSuffixes = {
    {{".npy", MatrixFormat::kNpy},
     {".parquet", MatrixFormat::kParquet},
     {".arrow", MatrixFormat::kArrow},
     {".feather", MatrixFormat::kArrow},
     {".ipc", MatrixFormat::kArrow}}};
std::string matrix_suffixes();  // for messages: ".npy, .parquet, .arrow, .feather or .ipc"

// Returns nullopt if the name ends in none of kMatrixSuffixes. Case does not matter. Throws no
// Error.
std::optional<MatrixFormat> matrix_format_of(const std::string& path);

}  // namespace encode
