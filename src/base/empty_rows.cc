#include "base/empty_rows.h"

#include <fmt/format.h>

#include "base/units.h"

namespace encode {

bool is_white_space(std::string_view text) {
  return !text.empty() && text.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos;
}

std::string describe(const EmptyRows& rows) {
  std::string empty =
      fmt::format("{} an empty text", format_count(rows.empty, "row has", "rows have"));
  std::string blank =
      fmt::format("{} only white space", format_count(rows.blank, "row has", "rows have"));
  if (rows.blank == 0) return empty;
  return rows.empty == 0 ? blank : fmt::format("{}, and {}", empty, blank);
}

std::string empty_rows_advice(const EmptyRows& rows) {
  const char* reject = "give --empty-row reject (empty_row: reject in the config)";
  const char* remove = "take the rows of white space out of the input";
  if (rows.blank == 0) return reject;
  return rows.empty == 0 ? remove : fmt::format("{}, and {}", reject, remove);
}

}  // namespace encode
