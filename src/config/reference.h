// Makes the reference of all keys in docs/config.md from the table of keys.
#pragma once

#include <string>

namespace encode {

// Returns Markdown with a heading and a table (key, value, default, meaning) for each section.
std::string config_reference();

}  // namespace encode
