// Renders the output of `encode search`. Any thread may call these functions. They throw no Error.
#pragma once

#include <cstddef>
#include <string>

#include "search/search.h"

namespace encode {

// Returns what precedes the results: a line about the matrix, the similarity and the prompt, and a
// line for queries that were cut. It ends in '\n'.
std::string render_setting(const SearchSetting& setting);
// Returns a table with a line for each row, which is cut to `columns` characters. It has the
// columns of the input before the text, and the query above it if there are several queries. Texts
// are escaped. It ends in '\n'.
std::string render_result(const SearchSetting& setting, const SearchResult& result, size_t columns);
// Returns one line of JSON, without '\n'.
std::string to_json_line(const SearchSetting& setting, const SearchResult& result);

}  // namespace encode
