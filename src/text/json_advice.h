// Advice for a user who has named a field that a JSON document does not have. Any thread may call
// these functions. They throw no Error.
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
// "jsonl.missing" of a record. The hint is the field that the name is probably meant for, or else
// the fields of the document that hold text.
void advise_missing_field(const MissingField& missing, RowProblem& problem);

// Adds a hint to the problem of a record whose `value` is neither a text nor a list of token ids:
// the fields of the document that are, the longest text first. `path` is the JSON pointer of the
// value, or "" for the document `root` itself.
void advise_text_fields(simdjson::dom::element root, simdjson::dom::element value,
                        const std::string& path, RowProblem& problem);

}  // namespace encode
