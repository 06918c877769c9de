// What the tests of the text module speak: write bytes, read rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"
#include "encode/text.h"

#include "text/row_reader.h"

namespace encode::testing {

// "line 3: hello" for each row, so that a test can compare whole inputs.
std::vector<std::string> rows_of(const InputOptions& options,
                                 size_t block_bytes = RowReader::kBlockBytes);
// The texts alone.
std::vector<std::string> texts_of(const InputOptions& options,
                                  size_t block_bytes = RowReader::kBlockBytes);
// "line: reason" of each record that was dropped.
std::vector<std::string> rejections_of(const InputOptions& options);

InputScan scan_in_blocks(const InputOptions& options, size_t block_bytes);

// The detail of the Error that scanning throws; fails the test where it throws none.
ErrorDetail error_of(const InputOptions& options);

std::string gzip(std::string_view bytes);
std::string zstd(std::string_view bytes);

// Rejects what is bad instead of throwing.
InputOptions lenient(InputOptions options);

}  // namespace encode::testing
