// Turns a report into one HTML file that needs no network.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace encode {

// The beginning of every report. A file that begins like this may be replaced by a report.
inline constexpr std::string_view kPageHead = "<!doctype html>\n<!-- encode report -->\n";

// Returns the page that shows `report` (see collect_report()). The strings of the report may hold
// anything: the page never treats them as HTML or as a script. Does not throw Error.
std::string html_page(const Json& report);

// Returns `json` in a form that is safe in a <script>: ASCII without '<', '>' and '&'. Bytes that
// are not UTF-8 become U+FFFD. Does not throw Error.
std::string script_json(const Json& json);

}  // namespace encode
