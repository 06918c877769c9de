#include "token_statistics.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/units.h"

namespace encode {
namespace {

constexpr int64_t kBarWidth = 40;  // characters of the longest bar

std::string percent(int64_t part, int64_t whole) {
  char text[16];
  const double share = whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

std::string padded(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
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
    text += padded(range, 20) + padded(format_count(here.rows), 12) +
            padded(percent(here.rows, rows_), 9);
    // A row that is there can be seen.
    const int64_t bar = (here.rows * kBarWidth + largest - 1) / largest;
    if (bar > 0) text += "  " + std::string(static_cast<size_t>(bar), '#');
    text += '\n';
  }
  return text;
}

std::string TokenStatistics::render(const TokenizeOptions& options,
                                    double tokenizing_seconds) const {
  const int64_t tokens = kept_tokens_ + lost_tokens_;
  std::string text = format_count(rows_) + " rows, " + format_count(tokens) + " tokens";
  if (rows_ > 0) {
    text += ", mean " + format_count(tokens / rows_) + ", longest " + format_count(longest_);
    text += "\n" + padded("tokens a row", 20) + padded("rows", 12) + padded("share", 9) + "\n";
    text += render_bars();
  } else {
    text += '\n';
  }
  if (options.max_length == 0) {
    text += "no truncation\n";
  } else {
    text += "truncated at " + format_count(options.max_length) + ": " +
            format_count(truncated_rows_) + " rows (" + percent(truncated_rows_, rows_) + "), ";
    text += options.count_lost_tokens ? format_count(lost_tokens_) + " tokens lost (" +
                                            percent(lost_tokens_, tokens) + ")\n"
                                      : "lost tokens not counted\n";
  }
  if (tokenizing_seconds > 0) {
    text +=
        "tokenizing took " + format_duration(tokenizing_seconds) + ": " +
        format_rate(static_cast<double>(tokens) / tokenizing_seconds) + " tokens/s, " +
        format_bytes(static_cast<int64_t>(static_cast<double>(text_bytes_) / tokenizing_seconds)) +
        "/s, one thread\n";
  }
  return text;
}

}  // namespace encode
