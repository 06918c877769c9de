#include "plan/report_lines.h"

#include <fmt/format.h>

#include "base/units.h"

namespace encode {

std::string report_line(const std::string& name, const std::string& value) {
  return fmt::format("  {:<18} {}\n", name, value);
}

std::string time_text(const EncodingTime& time) {
  if (time.seconds <= 0) return "";
  const std::string least = format_duration(time.least);
  const std::string most = format_duration(time.most);
  return least == most ? least : fmt::format("{} to {}", least, most);
}

Json known(double value) { return value > 0 ? Json(value) : Json(); }

Json range_of(const EncodingTime& time) {
  return time.seconds > 0 ? Json{time.least, time.most} : Json();
}

}  // namespace encode
