// Values that several files of encode have in the same form in JSON. Any thread may call these
// functions.
#pragma once

#include <string>
#include <vector>

#include "encode/types.h"

#include "base/json.h"
#include "base/names.h"

namespace encode {

// Returns the array of make(item) for all items, in order.
template <typename Items, typename Make>
Json array_of(const Items& items, const Make& make) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(make(item));
  return array;
}

// The functions below read a field. They throw what `fields` throws for a wrong value.

// Returns the value whose name the field has. A value that has several names in a config has only
// its first name in other files.
template <typename Enum, size_t kCount>
Enum named_value(const JsonFields& fields, const std::string& key,
                 const NameTable<Enum, kCount>& table) {
  const std::string name = fields.string(key);
  const std::optional<Enum> value = find_value(table, name);
  if (!value || name_of(table, *value) != name) fields.refuse(key, "a name that encode writes");
  return *value;
}

// Returns the rows that rows_json() wrote.
RowRange rows_from(const JsonFields& fields, const std::string& key);
Json rows_json(RowRange rows);  // [begin, end]

std::vector<std::string> strings_from(const JsonFields& fields, const std::string& key);

}  // namespace encode
