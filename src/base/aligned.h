// Tables of text for people.
#pragma once

#include <string>
#include <vector>

namespace encode {

using TableRow = std::vector<std::string>;

// Returns one line for each row: the first column stands on the left, and the others on the right.
// A row may have fewer cells than others. No line ends in a blank.
std::string aligned(const std::vector<TableRow>& rows);

}  // namespace encode
