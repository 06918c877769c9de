#include "run_plan/memory/chunk_rows.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/units.h"

namespace encode {
namespace {

constexpr double kMostChunks = 20'000;
constexpr double kMostRows = 1e9;  // the same limit as for a number in the config

// The largest number of 1, 2, 5, 10, 20, .. that is at most `value`, which is at least 1.
double round_down(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {5, 2}) {
    if (step * power <= value) return step * power;
  }
  return power;
}

}  // namespace

int64_t auto_chunk_rows(const ChunkFacts& facts) {
  const double longest = kMostLostSeconds / 2;
  const double shortest = std::min(facts.commit_seconds / kMostCommitShare, longest);
  // If a commit takes no measurable time, the geometric mean would be 0.
  constexpr double kLeastSeconds = 0.1;
  const double middle = std::sqrt(std::max(shortest, kLeastSeconds) * longest);
  const double row_seconds = std::max(facts.row_seconds, longest / kMostRows);
  const double few_chunks = static_cast<double>(facts.rows) / kMostChunks;
  const double rows = std::min(std::max(middle / row_seconds, few_chunks), longest / row_seconds);
  return static_cast<int64_t>(round_down(std::max(rows, 1.0)));
}

int64_t most_lost_rows(const MemoryRequest& request) {
  const int64_t chunk = request.chunk_rows;
  const int64_t window = largest_window(request).rows;
  // A window has whole small chunks, or a part of a large one.
  const int64_t rows = chunk <= window ? 2 * window : chunk + std::max(chunk, 2 * window);
  return request.texts.rows > 0 ? std::min(rows, request.texts.rows) : rows;
}

std::string describe_loss(int64_t rows, double seconds) {
  const std::string time =
      seconds > 0 ? fmt::format(", about {} of work", format_duration(seconds)) : "";
  return fmt::format("a kill loses at most {}{}", format_count(rows, "row", "rows"), time);
}

}  // namespace encode
