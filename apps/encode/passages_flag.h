// The flag --passages of `encode tokenize`.
#pragma once

#include <cstdint>
#include <string>

#include "tokenizer/passages.h"

namespace encode {

// The help of the flag.
std::string passages_flag_help();

// Returns the rule that a value such as "max_tokens=256,overlap=32,by=sentence" states. Without
// max_tokens the rule has `limit`, the limit of the model. Ends the command with refuse_usage() if
// the value has another form, or if there is neither max_tokens nor a limit.
PassageRule parse_passage_rule(const std::string& value, int64_t limit);

}  // namespace encode
