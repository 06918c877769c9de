#include "supervisor/report/summary.h"

#include <algorithm>
#include <array>

#include "encode/error.h"

#include "base/units.h"

namespace encode {
namespace {

constexpr size_t kColumns = 8;
using Row = std::array<std::string, kColumns>;

Row row_of(const FinishedMatrix& matrix) {
  const auto unless_combined = [&matrix](std::string text) {
    return matrix.combined ? "" : std::move(text);
  };
  return {matrix.name,
          unless_combined(format_count(matrix.rows_in)),
          unless_combined(format_count(matrix.rejected)),
          format_count(matrix.rows),
          "(" + std::to_string(matrix.rows) + ", " + std::to_string(matrix.dim) + ")",
          unless_combined(format_count(matrix.tokens)),
          unless_combined(format_count(matrix.truncated_rows)),
          matrix.tokens_per_second > 0 ? format_rate(matrix.tokens_per_second) : "-"};
}

std::string pad(const std::string& text, size_t width, bool left) {
  const std::string space(width - std::min(width, text.size()), ' ');
  return left ? text + space : space + text;
}

}  // namespace

std::string render(const RunSummary& summary) {
  std::vector<Row> rows = {
      {"stream", "rows_in", "rejected", "rows_out", "shape", "tokens", "truncated", "tokens/s"}};
  for (const FinishedMatrix& matrix : summary.matrices) rows.push_back(row_of(matrix));
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < kColumns; ++i)
      line += pad(row[i], widths[i], i == 0) + (i + 1 < kColumns ? "  " : "");
    text += line + "\n";
  }
  text += "rows_in = rows_out + rejected holds for every stream\n";
  for (const FinishedMatrix& matrix : summary.matrices)
    text += matrix.name + ": " + matrix.path + "\n";
  return text + "mode " + summary.mode + ", " + format_duration(summary.seconds) +
         ", peak memory " + format_bytes(summary.peak_host_bytes) + ", " + summary.host_memory +
         "\n";
}

Json to_json(const RunSummary& summary) {
  Json matrices = Json::array();
  for (const FinishedMatrix& matrix : summary.matrices) {
    matrices.push_back({{"name", matrix.name},
                        {"path", matrix.path},
                        {"rows_in", matrix.rows_in},
                        {"rejected", matrix.rejected},
                        {"rows", matrix.rows},
                        {"dim", matrix.dim},
                        {"tokens", matrix.tokens},
                        {"truncated_rows", matrix.truncated_rows},
                        {"tokens_per_second", matrix.tokens_per_second},
                        {"combined", matrix.combined}});
  }
  return {{"matrices", matrices},
          {"mode", summary.mode},
          {"seconds", summary.seconds},
          {"peak_host_bytes", summary.peak_host_bytes}};
}

Json to_json(const StageSeconds& seconds) {
  Json object = Json::object();
  for (const Stage& stage : kStages) object[std::string(stage.name)] = seconds.*stage.seconds;
  return object;
}

void check_rows(const RunSummary& summary) {
  for (const FinishedMatrix& matrix : summary.matrices) {
    if (matrix.rows_in == matrix.rows + matrix.rejected) continue;
    throw Error({.exit_code = ExitCode::kInternal,
                 .code = "run.row_count",
                 .what = "rows were lost in " + matrix.name,
                 .where = matrix.path,
                 .expected = std::to_string(matrix.rows_in) + " rows_in",
                 .found = std::to_string(matrix.rows) + " rows_out + " +
                          std::to_string(matrix.rejected) + " rejected",
                 .hint = "this is a defect of encode; please report it"});
  }
}

}  // namespace encode
