// The reference of all keys, made from the table of keys. Any thread may call these functions. They
// throw no Error.
#pragma once

#include <string>

#include "base/json.h"

namespace encode {

// Returns Markdown with a heading and a table (key, flags, value, default, meaning) for each
// section.
std::string config_reference();

// Returns a list with an object for each key: sections, name, alias, flags, no_flag, value,
// default, help. A default that depends on other things is null, and default_note says what it is.
Json config_reference_json();

}  // namespace encode
