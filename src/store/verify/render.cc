#include <array>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"
#include "store/verify/compare.h"
#include "store/verify/verify.h"

namespace encode {
namespace {

std::string norm_text(const MatrixSummary& matrix, double NormSummary::*number) {
  return matrix.norms ? fmt::format("{:.4f}", (*matrix.norms).*number) : "-";
}
Json norm_json(const MatrixSummary& matrix, double NormSummary::*number) {
  return matrix.norms ? Json((*matrix.norms).*number) : Json();
}
std::string cosine_text(double value) { return fmt::format("{:.9f}", value); }
std::string difference_text(double value) { return fmt::format("{:.3e}", value); }

const char* word_for(CheckStatus status) {
  switch (status) {
    case CheckStatus::kOk:
      return "ok";
    case CheckStatus::kWarning:
      return "warning";
    case CheckStatus::kFailed:
      break;
  }
  return "FAILED";
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::string describe(const Finding& finding) {
  return fmt::format("{}  {}{}{}: expected {}, found {}{}{}\n", word_for(finding.status),
                     finding.matrix, finding.matrix.empty() ? "" : "  ", finding.check,
                     finding.expected, finding.found, finding.detail.empty() ? "" : "\n        ",
                     finding.detail);
}

TableRow matrix_row(const MatrixSummary& matrix, const VerifyReport& report) {
  size_t checks = 0;
  size_t good = 0;
  for (const Finding& finding : report.findings) {
    if (finding.matrix != matrix.name || finding.status == CheckStatus::kWarning) continue;
    ++checks;
    if (finding.status == CheckStatus::kOk) ++good;
  }
  const std::string verdict = good == checks ? "ok" : "FAILED";
  const std::string passed = fmt::format("{}/{}", good, checks);
  if (matrix.dim == 0) return {matrix.name, "-", "-", "-", "-", "-", "-", "-", passed, verdict};
  return {matrix.name,
          format_count(matrix.rows),
          fmt::to_string(matrix.dim),
          std::string(facts_of(*matrix.item).word),
          format_bytes(matrix.file_bytes),
          norm_text(matrix, &NormSummary::min),
          norm_text(matrix, &NormSummary::mean),
          norm_text(matrix, &NormSummary::max),
          passed,
          verdict};
}

// Returns the table with a line for each matrix. If the table is wider than `columns`, each name
// has a line of its own. If `columns` is 0, there is no limit.
std::string matrix_table(const VerifyReport& report, size_t columns) {
  std::vector<TableRow> rows = {
      {"matrix", "rows", "dim", "dtype", "size", "norm min", "mean", "max", "checks", "result"}};
  for (const MatrixSummary& matrix : report.matrices) rows.push_back(matrix_row(matrix, report));
  std::string table = aligned(rows);
  if (columns == 0 || table.find('\n') <= columns) return table;  // the header is the widest line
  for (size_t i = 1; i < rows.size(); ++i) rows[i].front().clear();
  const std::string numbers = aligned(rows);
  size_t begin = numbers.find('\n') + 1;
  std::string text = numbers.substr(0, begin);
  for (const MatrixSummary& matrix : report.matrices) {
    const size_t end = numbers.find('\n', begin) + 1;
    text += fmt::format("{}\n{}", matrix.name, numbers.substr(begin, end - begin));
    begin = end;
  }
  return text;
}

// A line of the table of a comparison. A small cosine is bad, and so is a large difference; so each
// line has the two ends of the distributions that belong together.
struct CompareLine {
  const char* name;
  double Distribution::*cosine;
  double Distribution::*difference;
};
constexpr std::array<CompareLine, 6> kCompareLines = {
    {{"worst row", &Distribution::min, &Distribution::max},
     {"1 row in 1,000 is worse than", &Distribution::p0_1, &Distribution::p99_9},
     {"1 row in 100 is worse than", &Distribution::p1, &Distribution::p99},
     {"half of the rows are worse than", &Distribution::p50, &Distribution::p50},
     {"mean", &Distribution::mean, &Distribution::mean},
     {"best row", &Distribution::max, &Distribution::min}}};

const char* values_phrase(const CompareReport& report) {
  if (report.identical) return "identical values";
  const bool equal = report.different_rows == 0 && report.non_finite_rows == 0;
  return equal ? "equal values, but zeros of different signs" : "different values";
}

std::string rows_phrase(const CompareReport& report) {
  if (report.different_rows > 0) {
    return fmt::format("{} of {}\n", format_count(report.different_rows),
                       format_count(report.rows, "row differs", "rows differ"));
  }
  return report.non_finite_rows == 0 ? "all rows are equal\n"
                                     : "all rows without NaN and infinity are equal\n";
}

}  // namespace

std::string render_table(const VerifyReport& report, size_t columns) {
  std::string text = matrix_table(report, columns);
  for (const MatrixSummary& matrix : report.matrices) {
    if (!matrix.sha256.empty()) text += fmt::format("sha256  {}  {}\n", matrix.sha256, matrix.path);
  }
  for (const MatrixSummary& matrix : report.matrices) {
    if (matrix.ledger_path.empty()) continue;
    text += fmt::format("truncated  {}  {}, {} lost", matrix.name,
                        format_count(matrix.truncated_rows, "row", "rows"),
                        format_count(matrix.lost_tokens, "token", "tokens"));
    text += matrix.truncated_rows > 0 ? fmt::format(": {}\n", matrix.ledger_path) : "\n";
  }
  for (const CheckStatus status : {CheckStatus::kWarning, CheckStatus::kFailed}) {
    for (const Finding& finding : report.findings) {
      if (finding.status == status) text += describe(finding);
    }
  }
  if (const std::string next = next_step(report); !next.empty())
    text += fmt::format("next    {}\n", next);
  return printable(text);
}

std::string render_json(const VerifyReport& report) {
  Json matrices = Json::array();
  for (const MatrixSummary& matrix : report.matrices) {
    matrices.push_back({{"name", matrix.name},
                        {"path", matrix.path},
                        {"rows", matrix.rows},
                        {"dim", matrix.dim},
                        {"dtype", matrix.item ? facts_of(*matrix.item).name : ""},
                        {"file_bytes", matrix.file_bytes},
                        {"non_finite_rows", matrix.non_finite_rows},
                        {"zero_rows", matrix.zero_rows},
                        {"norm_min", norm_json(matrix, &NormSummary::min)},
                        {"norm_mean", norm_json(matrix, &NormSummary::mean)},
                        {"norm_max", norm_json(matrix, &NormSummary::max)},
                        {"xxh3_128", matrix.xxh3_128},
                        {"truncated_rows", matrix.truncated_rows},
                        {"lost_tokens", matrix.lost_tokens},
                        {"truncation_ledger", matrix.ledger_path},
                        {"sha256", matrix.sha256}});
  }
  Json findings = Json::array();
  for (const Finding& finding : report.findings) {
    findings.push_back(
        {{"matrix", finding.matrix},
         {"check", finding.check},
         {"status", finding.status == CheckStatus::kFailed ? "failed" : word_for(finding.status)},
         {"expected", finding.expected},
         {"found", finding.found},
         {"detail", finding.detail}});
  }
  return dump({{"exit_code", static_cast<int>(report.exit_code())},
               {"matrices", matrices},
               {"findings", findings},
               {"next", next_step(report)}});
}

std::string render_table(const CompareReport& report) {
  std::string text = aligned({{"a", report.a_path, std::string(to_string(report.a_type))},
                              {"b", report.b_path, std::string(to_string(report.b_type))}});
  text += fmt::format("{}, {}, {}\n\n", format_count(report.rows, "row", "rows"),
                      format_count(report.dim, "column", "columns"), values_phrase(report));
  const Distribution& cosine = report.cosine;
  const Distribution& difference = report.max_difference;
  std::vector<TableRow> by_row = {{"by row", "cosine", "max |a - b|"}};
  for (const CompareLine& line : kCompareLines) {
    by_row.push_back({line.name, cosine_text(cosine.*line.cosine),
                      difference_text(difference.*line.difference)});
  }
  text += fmt::format("{}\n{}", aligned(by_row), rows_phrase(report));
  if (!report.worst.empty()) {
    std::vector<TableRow> rows = {{"worst rows", "cosine", "max |a - b|", "column"}};
    for (const RowDifference& row : report.worst) {
      rows.push_back({fmt::to_string(row.row), cosine_text(row.cosine),
                      difference_text(row.max_difference), fmt::to_string(row.column)});
    }
    text += aligned(rows);
  }
  for (const std::string& failure : report.failures) text += fmt::format("FAILED  {}\n", failure);
  return printable(text);
}

std::string render_json(const CompareReport& report) {
  const auto distribution = [](const Distribution& d) {
    return Json{{"min", d.min},   {"p0.1", d.p0_1}, {"p1", d.p1},       {"p50", d.p50},
                {"mean", d.mean}, {"p99", d.p99},   {"p99.9", d.p99_9}, {"max", d.max}};
  };
  Json worst = Json::array();
  for (const RowDifference& row : report.worst) {
    worst.push_back({{"row", row.row},
                     {"cosine", row.cosine},
                     {"max_difference", row.max_difference},
                     {"column", row.column}});
  }
  return dump({{"exit_code", static_cast<int>(report.exit_code())},
               {"a", report.a_path},
               {"b", report.b_path},
               {"a_output_dtype", to_string(report.a_type)},
               {"b_output_dtype", to_string(report.b_type)},
               {"rows", report.rows},
               {"dim", report.dim},
               {"identical", report.identical},
               {"different_rows", report.different_rows},
               {"non_finite_rows", report.non_finite_rows},
               {"cosine", distribution(report.cosine)},
               {"max_difference", distribution(report.max_difference)},
               {"worst", worst},
               {"failures", report.failures}});
}

}  // namespace encode
