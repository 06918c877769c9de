#include "config/effective_value.h"

#include <fmt/format.h>

namespace encode {

void settle(const NamedValue& one, const NamedValue& two, const Value& none) {
  Effective& first = one.effective;
  Effective& second = two.effective;
  if (first.value == none || second.value == none) return;
  if (first.layer == second.layer) {
    throw Error({.code = "config.conflict",
                 .exit_code = second.exit_code(),
                 .what = fmt::format("{} and {} exclude each other", one.name, two.name),
                 .where = second.origin,
                 .expected = "one of the two",
                 .found = fmt::format("both; the {} is at {}", one.name, first.origin),
                 .hint = "delete one of the two"});
  }
  Effective& loser = first.layer < second.layer ? first : second;
  const Effective& winner = first.layer < second.layer ? second : first;
  loser = {.value = none, .origin = winner.origin, .layer = winner.layer};
}

}  // namespace encode
