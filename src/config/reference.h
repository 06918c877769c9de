// Makes the reference of all keys in docs/config.md from the table of keys.
#pragma once

#include <string>

namespace encode {

// Markdown with a heading and a table (key, value, default, meaning) for each section. Throws no
// Error.
std::string config_reference();

}  // namespace encode
