// The reference of all keys for docs/config.md, made from the table that drives the loader.
#pragma once

#include <string>

namespace encode {

// Markdown: a heading and a table (key, value, default, meaning) for each section.
std::string config_reference();

}  // namespace encode
