// Columnar files (Parquet, Arrow IPC) as inputs.
#pragma once

#include <memory>

#include "encode/config.h"

#include "text/input_file.h"

namespace encode {

// Opens the column `options.field` of a file in a columnar format. A record is a row of the file:
// `line` is its number, from 1, and `offset_bytes` is 0. Throws what TextReader and open_column()
// throw.
std::unique_ptr<InputFile> open_columnar_file(const InputOptions& options, TextFormat format,
                                              const FileReading& reading);

}  // namespace encode
