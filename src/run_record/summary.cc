#include "run_record/summary.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/aligned.h"
#include "base/units.h"

namespace encode {
namespace {

// The longest name in the table, so that with usual numbers a line fits a terminal of 80 columns.
// The lines below the table have the whole names.
constexpr size_t kMostNameBytes = 16;

TableRow row_of(const FinishedMatrix& matrix) {
  const auto unless_combined = [&matrix](std::string text) {
    return matrix.combined ? "" : std::move(text);
  };
  return {shorten(matrix.name, kMostNameBytes),
          unless_combined(format_count(matrix.rows_in)),
          unless_combined(format_count(matrix.rejected)),
          format_count(matrix.rows),
          fmt::to_string(matrix.dim),
          unless_combined(format_count(matrix.tokens)),
          unless_combined(format_count(matrix.truncation.truncated_rows)),
          matrix.tokens_per_second > 0 ? format_rate(matrix.tokens_per_second) : "-"};
}

// The table and the warnings are left out, because the run that made these matrices has shown them.
std::string say_complete(const RunSummary& summary) {
  std::string text;
  for (const FinishedMatrix& matrix : summary.matrices) {
    text += fmt::format("{}: already complete{}; nothing was encoded\n", matrix.path,
                        summary.retried ? ", and no row is left to encode again" : "");
  }
  return text;
}

}  // namespace

std::string render(const RunSummary& summary) {
  if (summary.already_complete) return say_complete(summary);
  std::vector<TableRow> rows = {
      {"stream", "rows read", "rejected", "written", "dim", "tokens", "truncated", "tokens/s"}};
  for (const FinishedMatrix& matrix : summary.matrices) rows.push_back(row_of(matrix));
  std::string text = aligned(rows);
  const bool dropped = std::any_of(summary.matrices.begin(), summary.matrices.end(),
                                   [](const FinishedMatrix& matrix) { return matrix.dropped > 0; });
  const bool filtered =
      std::any_of(summary.matrices.begin(), summary.matrices.end(),
                  [](const FinishedMatrix& matrix) { return matrix.filtered > 0; });
  text += fmt::format("no row was lost: rows read = written + rejected{}{}\n",
                      filtered ? " + filtered" : "", dropped ? " + dropped" : "");
  for (const FinishedMatrix& matrix : summary.matrices) {
    if (matrix.filtered == 0) continue;
    text += fmt::format("{}: the filter left out {} of {}\n", matrix.name,
                        format_count(matrix.filtered),
                        format_count(matrix.rows_in, "record", "records"));
  }
  for (const FinishedMatrix& matrix : summary.matrices) {
    if (matrix.dropped == 0) continue;
    text += fmt::format("{}: without {} not be encoded\n", matrix.name,
                        format_count(matrix.dropped, "row that could", "rows that could"));
  }
  for (const FinishedMatrix& matrix : summary.matrices) {
    text += fmt::format("{}: {}\n", matrix.name, matrix.path);
    if (matrix.passages > 0)
      text += fmt::format("{}: {} of {}\n", matrix.name,
                          format_count(matrix.passages, "passage", "passages"),
                          format_count(matrix.rows, "row", "rows"));
    if (!matrix.rejected_path.empty())
      text +=
          fmt::format("{}: rejected rows are listed in {}\n", matrix.name, matrix.rejected_path);
  }
  for (const FinishedMatrix& matrix : summary.matrices) {
    if (!matrix.empty_rows.any()) continue;
    text += fmt::format("{}: {}\n", matrix.name, describe(matrix.empty_rows));
  }
  if (const PressureTotals& pressure = summary.pressure; pressure.times > 0) {
    text +=
        fmt::format("host memory was short {}, {} in all; fewer rows were encoded at once then\n",
                    pressure.times == 1 ? "once" : fmt::format("{} times", pressure.times),
                    format_duration(pressure.seconds));
  }
  return text + fmt::format("time {}{}, peak memory {}, {}\n", format_duration(summary.seconds),
                            summary.chunked ? "" : " in one pass, without chunks",
                            format_bytes(summary.peak_host_bytes), summary.host_memory);
}

Json to_json(const RunSummary& summary) {
  Json matrices = Json::array();
  for (const FinishedMatrix& matrix : summary.matrices) {
    Json json = {{"name", matrix.name},
                 {"path", matrix.path},
                 {"rows_in", matrix.rows_in},
                 {"rejected", matrix.rejected},
                 {"rejected_path", matrix.rejected_path},
                 {"filtered", matrix.filtered},
                 {"dropped", matrix.dropped},
                 {"empty_rows", matrix.empty_rows.empty},
                 {"blank_rows", matrix.empty_rows.blank},
                 {"rows", matrix.rows},
                 {"dim", matrix.dim},
                 {"tokens", matrix.tokens},
                 {"truncated_rows", matrix.truncation.truncated_rows},
                 {"lost_tokens", matrix.truncation.lost_tokens},
                 {"tokens_per_second", matrix.tokens_per_second},
                 {"combined", matrix.combined}};
    if (matrix.passages > 0) json["passages"] = matrix.passages;
    matrices.push_back(std::move(json));
  }
  return {{"matrices", matrices},
          {"mode", summary.chunked ? "chunked" : "standard"},
          {"already_complete", summary.already_complete},
          {"seconds", summary.seconds},
          {"peak_host_bytes", summary.peak_host_bytes},
          {"memory_pressure",
           {{"times", summary.pressure.times}, {"seconds", summary.pressure.seconds}}}};
}

void check_rows(const RunSummary& summary) {
  for (const FinishedMatrix& matrix : summary.matrices) {
    if (matrix.rows_in == matrix.rows + matrix.rejected + matrix.filtered + matrix.dropped)
      continue;
    throw Error(
        {.code = "run.row_count",
         .what = "rows were lost in " + matrix.name,
         .where = matrix.path,
         .expected = fmt::format("{} rows, as many as were read", matrix.rows_in),
         .found = fmt::format("{} written + {} rejected + {} filtered + {} dropped", matrix.rows,
                              matrix.rejected, matrix.filtered, matrix.dropped),
         .hint = kDefectHint});
  }
}

}  // namespace encode
