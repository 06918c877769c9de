// Tables of text for people. Any thread may call this function. It throws no Error.
#pragma once

#include <string>
#include <vector>

namespace encode {

using TableRow = std::vector<std::string>;

// Formats a table with one line for each row: the first column is left-aligned, and the others are
// right-aligned. A row may have fewer cells than others. Lines have no trailing spaces.
std::string aligned(const std::vector<TableRow>& rows);

}  // namespace encode
