// Helpers of the tests of the text module. They read all rows of an input, and they compress bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"
#include "encode/text.h"

#include "text/row_reader.h"

namespace encode::testing {

// Returns "line 3: hello" for each row, so that a test can compare whole inputs.
std::vector<std::string> rows_of(const InputOptions& options,
                                 size_t block_bytes = RowReader::kBlockBytes);
// Returns only the texts.
std::vector<std::string> texts_of(const InputOptions& options,
                                  size_t block_bytes = RowReader::kBlockBytes);
// Returns "3: reason" for each dropped record, with the line on which it starts.
std::vector<std::string> rejections_of(const InputOptions& options);

InputScan scan_in_blocks(const InputOptions& options, size_t block_bytes);

// Returns the detail of the Error that a scan throws. Fails the test if the scan throws none.
ErrorDetail error_of(const InputOptions& options);

std::string gzip(std::string_view bytes);
std::string zstd(std::string_view bytes);

// Returns the options with bad rows dropped instead of reported as errors.
InputOptions lenient(InputOptions options);

}  // namespace encode::testing
