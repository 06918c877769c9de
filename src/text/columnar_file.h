// Columnar files as inputs: Parquet, and Arrow IPC files and streams. A row of the column is a row
// of the input. The column holds strings, or lists of integers in [0, 2^31), which are token ids.
// With a template, the text is made from several columns of any values but lists and structs. A
// null is a bad row. Damage ends the run under every policy. The plugin libencode_arrow.so reads
// these files.
#pragma once

#include <memory>

#include "encode/config.h"

#include "text/input_file.h"

namespace encode {

// Opens the columns of fields_of(options) in a file in a columnar format. A record is a row of the
// file: `line` is its number, from 1, and `offset_bytes` is 0. Throws what TextReader and
// open_column() throw.
std::unique_ptr<InputFile> open_columnar_file(const InputOptions& options, TextFormat format,
                                              const FileReading& reading);

}  // namespace encode
