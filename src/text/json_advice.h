// Says how to name a field of a JSON document, for a user who has named one that it does not have.
#pragma once

#include <string>

#include <simdjson.h>

#include "text/record.h"

namespace encode {

// Adds the names that `parent` has, also as RowProblem::fields, and a hint, to the problem
// "jsonl.missing" of a record. `root` is the document, and `parent` the value in it that has no
// field `name`.
void advise_missing_field(simdjson::dom::element root, simdjson::dom::element parent,
                          const std::string& name, RowProblem& problem);

// Adds a hint to the problem "jsonl.type" of the field with this JSON pointer or name, if the value
// is an object.
void advise_object_field(simdjson::dom::element value, const std::string& field,
                         RowProblem& problem);

}  // namespace encode
