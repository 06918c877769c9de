#include "tokenizer/tokenizer_refusal.h"

#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/units.h"

namespace encode {

void refuse_format(std::string what, const std::string& where, std::string expected,
                   std::string found) {
  throw Error({.code = kTokenizerFormat,
               .what = std::move(what),
               .where = where,
               .expected = std::move(expected),
               .found = std::move(found),
               .hint = "correct the file, or choose another model; if it was copied or downloaded, "
                       "compare it with the original"});
}

void refuse_unsupported(std::string what, const std::string& where, Unsupported part) {
  throw Error({.code = kTokenizerUnsupported,
               .what = std::move(what),
               .where = where,
               .expected = std::move(part.expected),
               .found = std::move(part.found),
               .hint = std::move(part.hint)});
}

void refuse_contradiction(Contradiction contradiction) {
  throw Error({.code = "tokenizer.contradiction",
               .what = std::move(contradiction.what),
               .where = std::move(contradiction.where),
               .expected = std::move(contradiction.expected),
               .found = std::move(contradiction.found),
               .hint = std::move(contradiction.hint)});
}

std::string quoted_token(std::string_view token) {
  constexpr size_t kShownBytes = 40;
  return fmt::format("'{}'", preview(token, kShownBytes));
}

}  // namespace encode
