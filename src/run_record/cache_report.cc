#include "run_record/cache_report.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/units.h"
#include "store/layout.h"

namespace encode {
namespace {

struct Field {
  const char* name;
  int64_t CacheCounts::*count;
};

constexpr std::array<Field, 10> kFields = {{{"deduplicated_rows", &CacheCounts::deduplicated_rows},
                                            {"requests", &CacheCounts::requests},
                                            {"row_hits", &CacheCounts::row_hits},
                                            {"compact_hits", &CacheCounts::compact_hits},
                                            {"disk_hits", &CacheCounts::disk_hits},
                                            {"damaged_rows", &CacheCounts::damaged_rows},
                                            {"stored_rows", &CacheCounts::stored_rows},
                                            {"row_bytes", &CacheCounts::row_bytes},
                                            {"compact_bytes", &CacheCounts::compact_bytes},
                                            {"disk_bytes", &CacheCounts::disk_bytes}}};

// Returns exactly 100 only if all requests were found, and exactly 0 only if none was found.
double hit_percent(const CacheCounts& counts) {
  const double percent = 100 * counts.hit_rate();
  const bool some = counts.hits() > 0 && counts.hits() < counts.requests;
  return some ? std::clamp(percent, 0.1, 99.9) : percent;
}

}  // namespace

std::string describe(const CacheCounts& counts, std::string_view one) {
  const std::string many = fmt::format("{}s", one);
  // Equal rows of different windows are not counted, so the line does not say how many equal rows
  // the input has.
  std::string equal = fmt::format("{} got the vector of an equal {} that was encoded with {}",
                                  format_count(counts.deduplicated_rows, one, many), one,
                                  counts.deduplicated_rows == 1 ? "it" : "them");
  if (counts.requests == 0) return equal;
  std::string text = fmt::format(
      "{:.1f}% of {} found in the embedding cache (L1 {}, L2 {}, disk {}), {} added; "
      "{}; L1 {}, L2 {}, disk {}",
      hit_percent(counts), format_count(counts.requests, "request", "requests"),
      format_count(counts.row_hits), format_count(counts.compact_hits),
      format_count(counts.disk_hits), format_count(counts.stored_rows, one, many), equal,
      format_bytes(counts.row_bytes), format_bytes(counts.compact_bytes),
      format_bytes(counts.disk_bytes));
  if (counts.damaged_rows > 0)
    text +=
        fmt::format("; {}", format_count(counts.damaged_rows, "damaged record", "damaged records"));
  return text;
}

Json to_json(const CacheCounts& counts) {
  Json json = Json::object();
  for (const Field& field : kFields) json[field.name] = counts.*field.count;
  json["hit_rate"] = counts.hit_rate();
  json["disk_load_ratio"] = counts.disk_load_ratio();
  return json;
}

CacheCounts cache_counts_from(const JsonFields& fields) {
  CacheCounts counts;
  for (const Field& field : kFields)
    counts.*field.count = fields.integer_or(field.name, 0, 0, kMaxInteger);
  return counts;
}

}  // namespace encode
