// Breaks text for people into the lines of a terminal. Any thread may call this function. It throws
// no Error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace encode {

// Returns `text` with each line broken at spaces into lines of at most `width` columns. All but the
// first of them are indented by `indent` columns. A character counts as one column.
//
// What a user may paste is not broken, even if it is wider: a word, such as a path; a part in
// quotes ('...', "..." or `...`); the name of a command with its options, as in "encode run
// --help"; and a whole command after a colon, which is the rest of the line from "encode " on, if
// no word of it ends with a comma or a semicolon.
std::string wrap_text(std::string_view text, size_t width, size_t indent);

}  // namespace encode
