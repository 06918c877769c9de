// What the parts of the report of a plan have in common. Any thread may call these functions. They
// throw no Error.
#pragma once

#include <string>

#include "base/json.h"
#include "run_plan/memory/compute_rate.h"

namespace encode {

// A line of the report: a name, and its value in a column of its own.
std::string report_line(const std::string& name, const std::string& value);
// Returns a text such as "12.3 s", or "10.0 s to 60.0 s" if the rate is not measured; "" if the
// time is not known.
std::string time_text(const EncodingTime& time);

Json known(double value);                 // null if the value is 0
Json range_of(const EncodingTime& time);  // [least, most], or null if the time is not known

}  // namespace encode
