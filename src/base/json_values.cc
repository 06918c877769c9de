#include "base/json_values.h"

#include "base/units.h"

namespace encode {

RowRange rows_from(const JsonFields& fields, const std::string& key) {
  const Json& rows = fields.array(key);
  if (rows.size() != 2 || !rows[0].is_number_unsigned() || !rows[1].is_number_unsigned())
    fields.refuse(key, "[begin, end]");
  return {.begin = rows[0].get<int64_t>(), .end = rows[1].get<int64_t>()};
}

Json rows_json(RowRange rows) { return {rows.begin, rows.end}; }

std::vector<std::string> strings_from(const JsonFields& fields, const std::string& key) {
  std::vector<std::string> values;
  for (const Json& value : fields.array(key)) {
    if (!value.is_string()) fields.refuse(key, "strings", preview(value.dump()));
    values.push_back(value.get<std::string>());
  }
  return values;
}

}  // namespace encode
