#include "token_statistics.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "base/units.h"

namespace encode {
namespace {

constexpr int64_t kBarWidth = 40;  // the number of characters of the longest bar

std::string percent(int64_t part, int64_t whole) {
  const double share = whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f} %", share * 100);
}

}  // namespace

void TokenStatistics::add(int64_t kept_tokens, int64_t lost_tokens, int64_t text_bytes) {
  const int64_t whole = kept_tokens + lost_tokens;
  const auto at = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(whole)));
  ++bucket_rows_[std::min(at, kBuckets - 1)];
  ++rows_;
  kept_tokens_ += kept_tokens;
  lost_tokens_ += lost_tokens;
  truncated_rows_ += lost_tokens > 0 ? 1 : 0;
  longest_ = std::max(longest_, whole);
  text_bytes_ += text_bytes;
}

TokenStatistics::Bucket TokenStatistics::bucket(size_t i) const {
  if (i == 0) return {0, 0, bucket_rows_[0]};
  return {int64_t{1} << (i - 1), (int64_t{1} << i) - 1, bucket_rows_[i]};
}

std::string TokenStatistics::render_bars() const {
  const auto has_rows = [](int64_t rows) { return rows > 0; };
  const auto first = std::find_if(bucket_rows_.begin(), bucket_rows_.end(), has_rows);
  const auto last = std::find_if(bucket_rows_.rbegin(), bucket_rows_.rend(), has_rows).base();
  const int64_t largest = *std::max_element(bucket_rows_.begin(), bucket_rows_.end());
  std::string text;
  for (auto at = first; at < last; ++at) {
    const Bucket here = bucket(static_cast<size_t>(at - bucket_rows_.begin()));
    std::string range = format_count(here.first);
    if (here.last != here.first) range += " to " + format_count(here.last);
    text +=
        fmt::format("{:>20}{:>12}{:>9}", range, format_count(here.rows), percent(here.rows, rows_));
    // Rounds up, so that a bucket with a single row has a bar.
    const int64_t bar = (here.rows * kBarWidth + largest - 1) / largest;
    if (bar > 0) text += fmt::format("  {:#>{}}", "", bar);
    text += '\n';
  }
  return text;
}

std::string TokenStatistics::render(int64_t max_length, bool counts_lost_tokens,
                                    double tokenizing_seconds) const {
  const int64_t tokens = kept_tokens_ + lost_tokens_;
  std::string text = fmt::format("{}, {}", format_count(rows_, one_, many_),
                                 format_count(tokens, "token", "tokens"));
  if (rows_ > 0) {
    text += fmt::format(", mean {}, longest {}\n{:>20}{:>12}{:>9}\n", format_count(tokens / rows_),
                        format_count(longest_), fmt::format("tokens a {}", one_), many_, "share");
    text += render_bars();
  } else {
    text += '\n';
  }
  if (max_length == 0) {
    text += "no truncation\n";
  } else {
    const std::string lost =
        counts_lost_tokens
            ? fmt::format("{} lost ({})", format_count(lost_tokens_, "token", "tokens"),
                          percent(lost_tokens_, tokens))
            : "lost tokens not counted";
    text += fmt::format("truncated at {}: {} ({}), {}\n", format_count(max_length),
                        format_count(truncated_rows_, one_, many_), percent(truncated_rows_, rows_),
                        lost);
  }
  if (tokenizing_seconds > 0) {
    const double token_rate = static_cast<double>(tokens) / tokenizing_seconds;
    const double byte_rate = static_cast<double>(text_bytes_) / tokenizing_seconds;
    text += fmt::format("tokenizing took {}: {} tokens/s, {}/s, one thread\n",
                        format_duration(tokenizing_seconds), format_rate(token_rate),
                        format_bytes(static_cast<int64_t>(byte_rate)));
  }
  return text;
}

}  // namespace encode
