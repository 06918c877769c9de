// The fields of rows, which both the job and the worker's events contain.
#pragma once

#include "encode/store.h"

#include "protocol/json_fields.h"

namespace encode {

// JsonWriter and JsonReader find these functions by argument-dependent lookup. So the functions are
// in the namespace encode and not in an unnamed namespace.

ENCODE_FIELDS(RowRange, begin, end)
ENCODE_FIELDS(SetAsideRow, row, code, message)

}  // namespace encode
