// Helpers for the tests of the text module. They read all rows of an input, or compress bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"
#include "encode/text.h"

#include "text/row_reader.h"

namespace encode::testing {

// Returns a text such as "line 3: hello" for each row.
std::vector<std::string> rows_of(const InputOptions& options,
                                 size_t block_bytes = RowReader::kBlockBytes);
// Returns the text of each row.
std::vector<std::string> texts_of(const InputOptions& options,
                                  size_t block_bytes = RowReader::kBlockBytes);
// Returns a text such as "3: reason" for each rejected record. 3 is the line on which it starts.
std::vector<std::string> rejections_of(const InputOptions& options);

InputScan scan_in_blocks(const InputOptions& options, size_t block_bytes);

// Returns the detail of the Error that a scan throws. Fails the test if the scan throws no Error.
ErrorDetail error_of(const InputOptions& options);

std::string gzip(std::string_view bytes);
std::string zstd(std::string_view bytes);

// Returns the options, changed so that bad rows are rejected and are not an error.
InputOptions lenient(InputOptions options);

}  // namespace encode::testing
