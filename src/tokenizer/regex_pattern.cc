#include "tokenizer/regex_pattern.h"

#include "tokenizer/component.h"

namespace encode {

std::unique_ptr<TextPattern> make_pcre2_pattern(const std::string& regex,
                                                const std::string& where) {
  refuse_unsupported("regular expression '" + regex + "' is not supported", where);
}

}  // namespace encode
