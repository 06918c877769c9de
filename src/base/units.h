// Text for people: quantities, suggestions for typos, and quotations of untrusted text. Any thread
// may call these functions. They throw no Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace encode {

std::string format_bytes(int64_t bytes);  // "293.0 MB", "1.4 GB", "512 B" (decimal units)
// Shows `part` in the unit that format_bytes() uses for `whole`: "0.3 GB" of 1.4 GB.
std::string format_bytes_of(int64_t part, int64_t whole);
std::string format_count(int64_t count);  // "50,621"
// Shows the count with the singular or the plural: "1 row", "50,621 rows" for ("row", "rows").
std::string format_count(int64_t count, std::string_view one, std::string_view several);
std::string format_duration(double seconds);  // "0.42 s", "12.3 s", "3 m 05 s", "2 h 07 m"
std::string format_rate(double per_second);   // "812", "20.7k", "1.23M"

inline constexpr double kTera = 1e12;  // of TFLOP/s

// What parse_bytes() takes, for messages.
inline constexpr const char* kSizeSyntax =
    "a number and a unit, such as 512 MB (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)";

// Returns the bytes that a text such as "600MB", "1.5 GB" or "4GiB" stands for. The units are B,
// kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024). Returns nullopt for any
// other text, for a number without a unit, and for 2^60 bytes and more.
std::optional<int64_t> parse_bytes(std::string_view text);

// Returns the text with small letters in place of A to Z.
std::string lower_case(std::string text);

// Returns true if the word consists of digits.
bool is_number(std::string_view word);

// Returns the candidate with the smallest edit distance to `word`, or "" if none is near enough for
// `word` to be a typo of it. A number, such as the number of a column, counts as no typo.
// `candidates` has `count` names.
std::string nearest(const std::string& word, const std::string* candidates, size_t count);

// Returns "a, b or c" for the words "a", "b" and "c" and the conjunction "or".
std::string list_in_words(const std::vector<std::string>& words, std::string_view conjunction);

// Says what is valid in place of `word`: "one of: a, b, c". Of a long list it names only the words
// that are most like `word`: "one of: a, b, c, d, e and 27 others".
std::string one_of(const std::vector<std::string>& valid, const std::string& word);

// Returns ASCII text that is cut in the middle to at most `max_bytes`: "notes.c...y_model".
std::string shorten(const std::string& text, size_t max_bytes);

// Returns the first `max_bytes` of `text` for a message. If `text` is longer, "... (123 bytes)"
// follows. Control characters and bytes that are not ASCII are escaped (\x0a).
std::string preview(std::string_view text, size_t max_bytes = 80);

}  // namespace encode
