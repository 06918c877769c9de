#include "model_dir/truncation.h"

#include <fmt/format.h>

#include "base/units.h"

namespace encode {
namespace {

// Returns a text such as "25.7 %". Only a share of zero is shown as zero.
std::string percent_of(int64_t part, int64_t whole) {
  const double percent =
      whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
  return percent > 0 && percent < 0.1 ? "less than 0.1 %" : fmt::format("{:.1f} %", percent);
}

// Returns a phrase that says how far max_length can be raised; "" if it cannot be raised.
std::string longer_rows(const Truncation& truncation, const std::string& max_length) {
  if (!truncation.position_limit)
    return fmt::format("raise {} if the model allows it, ", max_length);
  if (*truncation.position_limit == 0) return fmt::format("raise {}, ", max_length);
  if (*truncation.position_limit <= truncation.max_length) return "";
  return fmt::format("raise {} (at most {} tokens with this model), ", max_length,
                     format_count(*truncation.position_limit));
}

}  // namespace

const char* Truncation::key() const {
  return of_passages ? "semantic.passages.max_tokens" : "semantic.max_length";
}

double Truncation::lost_share() const {
  const int64_t all = tokens + lost_tokens;
  return all > 0 ? static_cast<double>(lost_tokens) / static_cast<double>(all) : 0;
}

int64_t most_tokens(const EffectiveResult& effective) {
  return effective.passages ? effective.passages->max_tokens : effective.max_length;
}

std::string describe(const Truncation& truncation, const std::string& rows) {
  const bool one = truncation.truncated_rows == 1;
  return fmt::format(
      "{} of {} ({}) {} {}; the cut loses {} of all tokens",
      format_count(truncation.truncated_rows), rows,
      percent_of(truncation.truncated_rows, truncation.rows),
      truncation.of_passages
          ? (one ? "has a character of more than" : "have characters of more than")
          : (one ? "is longer than" : "are longer than"),
      format_count(truncation.max_length, "token", "tokens"),
      percent_of(truncation.lost_tokens, truncation.tokens + truncation.lost_tokens));
}

std::string truncation_advice(const Truncation& truncation, const std::string& max_length,
                              const std::string& new_output) {
  std::string advice =
      truncation.of_passages
          ? fmt::format("raise {}", max_length)
          : longer_rows(truncation, max_length) +
                "divide long texts into several rows, or choose a model with a longer context";
  if (!new_output.empty())
    advice += fmt::format("; give the next run {}, because this result is kept", new_output);
  return advice;
}

}  // namespace encode
