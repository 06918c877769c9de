#include "tokenizer/rewrite_budget.h"

#include <fmt/format.h>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/units.h"

namespace encode {

void RewriteBudget::refuse() const {
  throw Error(
      {.code = kTokenizerGrowth,
       .what = "the tokenizer makes a text far too long",
       .where = std::string(kUnnamedRow),
       .expected = fmt::format("at most {} bytes for a text of {}, and at most {} bytes for "
                               "all its steps together",
                               std::min(kMaxTextBytes, kSlackBytes + kTextFactor * row_bytes_),
                               format_count(row_bytes_, "byte", "bytes"),
                               kSlackBytes + kWorkFactor * row_bytes_),
       .found = fmt::format("more, in {}", step_.empty() ? "the tokenizer" : step_),
       .hint = "choose another model, or download this one again: no published tokenizer does "
               "this"});
}

}  // namespace encode
