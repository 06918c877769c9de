// The flag --passages of `encode tokenize`.
#pragma once

#include <cstdint>
#include <string>

#include "tokenizer/passages.h"

namespace encode {

// The help of the flag.
std::string passages_flag_help();

// What the flag states.
struct StatedPassages {
  PassageRule rule;
  std::string field = {};  // InputOptions::passage_field
};

// Reads a value such as "max_tokens=256,overlap=32,by=sentence,field=body". Everything behind
// "field=" is the name of the field. Without max_tokens the rule has `limit`, the limit of the
// model, or half of it with vectors=late. Ends the command with refuse_usage() if the value has
// another form, or if there is neither max_tokens nor a limit.
StatedPassages parse_passages(const std::string& value, int64_t limit);

}  // namespace encode
