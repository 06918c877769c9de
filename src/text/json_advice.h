// Says how to name a field of a JSON document, for a user who has named one that it does not have.
#pragma once

#include <string>

#include <simdjson.h>

#include "text/record.h"

namespace encode {

// A field that a record does not have.
struct MissingField {
  simdjson::dom::element root;    // the document
  simdjson::dom::element parent;  // the value in it that should have the field
  std::string path;               // the JSON pointer of `parent`; "" if it is the document
  std::string name;
};

// Adds the names that the parent has, also as RowProblem::fields, and a hint, to the problem
// "jsonl.missing" of a record.
void advise_missing_field(const MissingField& missing, RowProblem& problem);

// Adds a hint to the problem of a record whose `value` is neither a text nor a list of token ids:
// which fields of the document are. `path` is the JSON pointer of the value; "" if it is the
// document `root` itself, because no field is named.
void advise_text_fields(simdjson::dom::element root, simdjson::dom::element value,
                        const std::string& path, RowProblem& problem);

}  // namespace encode
