#include "base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <utility>
#include <vector>

namespace encode {
namespace {

// Returns how many characters must be inserted, deleted, replaced, or swapped with the next one.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before_last;
  std::vector<size_t> last;
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substitute, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string format_bytes(int64_t bytes) { return format_bytes_of(bytes, bytes); }

std::string format_bytes_of(int64_t part, int64_t whole) {
  static constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(part);
  auto scale = static_cast<double>(whole);
  size_t unit = 0;
  while (std::abs(scale) >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    scale /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", part) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::optional<int64_t> parse_bytes(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr double kKibi = 1024;
  static constexpr auto kUnits = std::to_array<Unit>({{"B", 1},
                                                      {"kB", 1e3},
                                                      {"MB", 1e6},
                                                      {"GB", 1e9},
                                                      {"TB", 1e12},
                                                      {"KiB", kKibi},
                                                      {"MiB", kKibi * kKibi},
                                                      {"GiB", kKibi * kKibi * kKibi},
                                                      {"TiB", kKibi * kKibi * kKibi * kKibi}});
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || rest == text.data() || text.front() == '-') return std::nullopt;
  std::string_view name(rest, static_cast<size_t>(end - rest));
  if (name.starts_with(' ')) name.remove_prefix(1);
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(),
                                  [name](const Unit& known) { return known.name == name; });
  constexpr double kTooLarge = 1.152921504606846976e18;  // 2^60
  // The comparison is also false for NaN, which from_chars() accepts.
  if (unit == kUnits.end() || !(number * unit->bytes < kTooLarge)) return std::nullopt;
  return std::llround(number * unit->bytes);
}

std::string format_count(int64_t count) {
  std::string digits = fmt::to_string(count < 0 ? -count : count);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return count < 0 ? "-" + digits : digits;
}

std::string format_count(int64_t count, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", format_count(count), count == 1 ? one : several);
}

std::string format_duration(double seconds) {
  if (seconds < 10) return fmt::format("{:.2f} s", seconds);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} m", whole / 3600, whole / 60 % 60);
}

std::string format_rate(double per_second) {
  if (per_second < 999.5) return fmt::format("{:.0f}", per_second);
  if (per_second < 999.95e3) return fmt::format("{:.1f}k", per_second / 1e3);
  return fmt::format("{:.2f}M", per_second / 1e6);
}

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string nearest(const std::string& word, const std::string* candidates, size_t count) {
  if (is_number(word)) return "";
  const size_t limit = std::max<size_t>(1, word.size() / 3);
  std::string best;
  size_t best_distance = limit + 1;
  for (size_t i = 0; i < count; ++i) {
    const size_t distance = edit_distance(word, candidates[i]);
    // If two names are equally near, the one that begins with the word is more likely.
    const bool longer = distance == best_distance && candidates[i].starts_with(word);
    if (distance < best_distance || (longer && !best.empty())) {
      best_distance = distance;
      best = candidates[i];
    }
  }
  return best;
}

std::string list_in_words(const std::vector<std::string>& words, std::string_view conjunction) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) list += i + 1 < words.size() ? ", " : fmt::format(" {} ", conjunction);
    list += words[i];
  }
  return list;
}

std::string one_of(const std::vector<std::string>& valid, const std::string& word) {
  constexpr size_t kMostBytes = 200;
  constexpr size_t kShown = 5;
  std::string all = fmt::format("one of: {}", fmt::join(valid, ", "));
  if (all.size() <= kMostBytes || valid.size() <= kShown) return all;
  const std::string wanted = lower_case(word.substr(0, kMostBytes));
  std::vector<std::pair<size_t, std::string>> by_distance;
  for (const std::string& name : valid)
    by_distance.emplace_back(edit_distance(wanted, lower_case(name)), name);
  std::stable_sort(by_distance.begin(), by_distance.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text = "one of: ";
  for (size_t i = 0; i < kShown; ++i) text += (i > 0 ? ", " : "") + by_distance[i].second;
  return text + fmt::format(" and {} others", valid.size() - kShown);
}

std::string shorten(const std::string& text, size_t max_bytes) {
  static constexpr std::string_view kCut = "...";
  if (text.size() <= max_bytes || max_bytes <= kCut.size()) return text;
  const size_t end = (max_bytes - kCut.size()) / 2;
  const size_t begin = max_bytes - kCut.size() - end;
  return text.substr(0, begin).append(kCut).append(text, text.size() - end);
}

std::string preview(std::string_view text, size_t max_bytes) {
  std::string out;
  const std::string_view shown = text.substr(0, max_bytes);
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    // Escapes the bytes of multi-byte characters too, because `max_bytes` may cut off a character,
    // and invalid UTF-8 must not reach a terminal.
    if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(byte));
    } else {
      out += c;
    }
  }
  if (text.size() > shown.size()) out += fmt::format("... ({} bytes)", text.size());
  return out;
}

}  // namespace encode
