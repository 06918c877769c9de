// Text for people: quantities, suggestions for typos, and quotations of untrusted text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace encode {

std::string format_bytes(int64_t bytes);  // "293.0 MB", "1.4 GB", "512 B" (decimal units)
// `part` in the unit in which format_bytes() shows `whole`: "0.3 GB" of 1.4 GB.
std::string format_bytes_of(int64_t part, int64_t whole);
std::string format_count(int64_t count);  // "50,621"
// The count with the word for one or for several of them: "1 row", "50,621 rows" for ("row",
// "rows").
std::string format_count(int64_t count, std::string_view one, std::string_view several);
std::string format_duration(double seconds);  // "0.42 s", "12.3 s", "3 m 05 s", "2 h 07 m"
std::string format_rate(double per_second);   // "812", "20.7k", "1.23M"

// Returns the bytes that a text such as "600MB", "1.5 GB" or "4GiB" stands for. The units are B,
// kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024). Returns nullopt for any
// other text, for a number without a unit, and for 2^60 bytes and more.
std::optional<int64_t> parse_bytes(std::string_view text);

// The candidate with the smallest edit distance to `word`. Returns "" if none is near enough for
// `word` to be a typo of it. `candidates` has `count` names.
std::string nearest(const std::string& word, const std::string* candidates, size_t count);

// Returns the first `max_bytes` of `text` for a message. If `text` is longer, "... (123 bytes)"
// follows. Control characters and bytes that are not ASCII are escaped (\x0a).
std::string preview(std::string_view text, size_t max_bytes = 80);

}  // namespace encode
