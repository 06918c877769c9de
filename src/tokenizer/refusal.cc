#include "tokenizer/refusal.h"

#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/units.h"

namespace encode {

void refuse_format(std::string what, const std::string& where, std::string expected,
                   std::string found) {
  throw Error({.exit_code = ExitCode::kConfig,
               .code = std::string(kTokenizerFormat),
               .what = std::move(what),
               .where = where,
               .expected = std::move(expected),
               .found = std::move(found),
               .hint = "the file may be damaged; fetch the model again"});
}

void refuse_unsupported(std::string what, const std::string& where, std::string hint) {
  if (hint.empty()) hint = "without it, the tokens would differ from those in training";
  throw Error({.exit_code = ExitCode::kConfig,
               .code = std::string(kTokenizerUnsupported),
               .what = std::move(what),
               .where = where,
               .expected = "",
               .found = "",
               .hint = std::move(hint)});
}

std::string quoted_token(std::string_view token) {
  constexpr size_t kShownBytes = 40;
  const std::string shown = preview(token, kShownBytes);
  return token.size() <= kShownBytes ? fmt::format("'{}'", shown)
                                     : fmt::format("'{}' ({} bytes)", shown, token.size());
}

}  // namespace encode
