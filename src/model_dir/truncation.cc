#include "model_dir/truncation.h"

#include <fmt/format.h>

#include "base/units.h"

namespace encode {
namespace {

// "25.7 %"; a share that is not zero is never shown as zero.
std::string percent_of(int64_t part, int64_t whole) {
  const double percent =
      whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
  return percent > 0 && percent < 0.1 ? "less than 0.1 %" : fmt::format("{:.1f} %", percent);
}

// How far max_length can be raised; "" if it cannot.
std::string longer_rows(const Truncation& truncation) {
  if (!truncation.position_limit) return "raise max_length if the model allows it, ";
  if (*truncation.position_limit == 0) return "raise max_length, ";
  if (*truncation.position_limit <= truncation.max_length) return "";
  return fmt::format("raise max_length (at most {} tokens with this model), ",
                     format_count(*truncation.position_limit));
}

}  // namespace

double Truncation::lost_share() const {
  const int64_t all = tokens + lost_tokens;
  return all > 0 ? static_cast<double>(lost_tokens) / static_cast<double>(all) : 0;
}

std::string describe(const Truncation& truncation, const std::string& rows) {
  return fmt::format(
      "{} of {} ({}) {} longer than {}; the cut loses {} of all tokens",
      format_count(truncation.truncated_rows), rows,
      percent_of(truncation.truncated_rows, truncation.rows),
      truncation.truncated_rows == 1 ? "is" : "are",
      format_count(truncation.max_length, "token", "tokens"),
      percent_of(truncation.lost_tokens, truncation.tokens + truncation.lost_tokens));
}

std::string truncation_advice(const Truncation& truncation) {
  return longer_rows(truncation) +
         "divide long texts into several rows, or choose a model with a longer context";
}

}  // namespace encode
