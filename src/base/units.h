// Quantities as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace encode {

std::string format_bytes(int64_t bytes);      // "293.0 MB", "1.4 GB", "512 B" (decimal units)
std::string format_count(int64_t count);      // "50,621"
std::string format_duration(double seconds);  // "0.42 s", "12.3 s", "3 m 05 s", "2 h 07 m"
std::string format_rate(double per_second);   // "812", "20.7k", "1.23M"

// The nearest of `candidates` by edit distance where it is near enough to be a typo, else "".
std::string nearest(const std::string& word, const std::string* candidates, size_t count);

// For messages: at most `max_bytes` of `text`, control characters and invalid UTF-8 escaped, "..."
// where cut.
std::string preview(std::string_view text, size_t max_bytes = 80);

}  // namespace encode
