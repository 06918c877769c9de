// The fields of rows, which both the job and the worker's events contain.
#pragma once

#include "encode/store.h"

#include "protocol/json_fields.h"

namespace encode {

// JsonWriter and JsonReader find these functions by argument-dependent lookup. So the functions are
// in the namespace encode and not in an unnamed namespace.

void fields(auto& archive, MaybeConst<RowRange> auto& value) {
  auto& [begin, end] = value;
  archive("begin", begin)("end", end);
}

void fields(auto& archive, MaybeConst<SetAsideRow> auto& value) {
  auto& [row, code, message] = value;
  archive("row", row)("code", code)("message", message);
}

}  // namespace encode
