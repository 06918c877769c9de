#include "preflight/findings.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/json.h"
#include "base/names.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/wrap_text.h"

namespace encode {
namespace {

constexpr NameTable<Grade, 3> kGrades = {
    {{"green", Grade::kGreen}, {"yellow", Grade::kYellow}, {"red", Grade::kRed}}};

// The columns before the text of a finding.
constexpr size_t kGradeColumns = 8;
constexpr size_t kCheckColumns = 18;

constexpr size_t kIndent = kGradeColumns + kCheckColumns;
// In a narrower terminal, wrapped lines would be harder to read than long ones.
constexpr size_t kLeastTextColumns = 30;

std::string with_indented_lines(const std::string& lines) {
  std::string text;
  for (const char c : lines) {
    text += c;
    if (c == '\n') text.append(kIndent, ' ');
  }
  return text;
}

std::string render(const PreflightFinding& finding) {
  const std::string code = finding.code ? fmt::format("[{}] ", finding.code.name()) : "";
  std::string text = fmt::format("{:<{}}{:<{}}{}\n", name_of(kGrades, finding.grade), kGradeColumns,
                                 printable(finding.check) + "  ", kCheckColumns,
                                 code + with_indented_lines(printable(finding.found)));
  if (!finding.next.empty())
    text += fmt::format("{:{}}next: {}\n", "", kIndent, printable(finding.next));
  return text;
}

}  // namespace

void PreflightFindings::green(std::string check, std::string found) {
  all_.push_back({.grade = Grade::kGreen,
                  .check = std::move(check),
                  .found = std::move(found),
                  .next = "",
                  .code = {}});
}

void PreflightFindings::yellow(std::string check, std::string found, std::string next) {
  all_.push_back({.grade = Grade::kYellow,
                  .check = std::move(check),
                  .found = std::move(found),
                  .next = std::move(next),
                  .code = {}});
}

void PreflightFindings::red(std::string check, const ErrorDetail& error) {
  std::string found = error.what;
  if (!error.where.empty()) found += ": " + error.where;
  if (!error.expected.empty()) found += "\nexpected " + error.expected;
  if (!error.found.empty()) found += "\nfound " + error.found;
  PreflightFinding finding = {.grade = Grade::kRed,
                              .check = std::move(check),
                              .found = std::move(found),
                              .next = error.hint,
                              .code = error.code,
                              .exit_code = error.exit_code,
                              .step = step_};
  if (!has_error(finding)) all_.push_back(std::move(finding));
}

bool PreflightFindings::has_error(const PreflightFinding& red) const {
  return std::any_of(all_.begin(), all_.end(), [&red](const PreflightFinding& other) {
    return other.grade == Grade::kRed && other.code == red.code && other.found == red.found;
  });
}

void PreflightFindings::add(const PreflightFindings& more) {
  for (const PreflightFinding& finding : more.all_) {
    if (finding.grade != Grade::kRed || !has_error(finding)) all_.push_back(finding);
  }
}

void PreflightFindings::forgive(RunStep first, const std::string& why) {
  for (PreflightFinding& finding : all_) {
    if (finding.grade != Grade::kRed || finding.step < first) continue;
    finding.grade = Grade::kYellow;
    finding.found = fmt::format("{}: [{}] {}", why, finding.code.name(), finding.found);
    finding.code = {};
    finding.exit_code = ExitCode::kOk;
  }
}

int64_t PreflightFindings::count(Grade grade) const {
  return std::count_if(all_.begin(), all_.end(),
                       [grade](const PreflightFinding& finding) { return finding.grade == grade; });
}

ExitCode PreflightFindings::exit_code() const {
  const PreflightFinding* first = nullptr;
  for (const PreflightFinding& finding : all_) {
    if (finding.grade != Grade::kRed) continue;
    if (first == nullptr || finding.step < first->step) first = &finding;
  }
  return first == nullptr ? ExitCode::kOk : first->exit_code;
}

std::string render_text(const PreflightFindings& findings, double seconds, bool verbose,
                        size_t columns) {
  std::string text;
  for (const Grade grade : {Grade::kGreen, Grade::kYellow, Grade::kRed}) {
    if (grade == Grade::kGreen && !verbose) continue;
    for (const PreflightFinding& finding : findings.all()) {
      if (finding.grade == grade) text += render(finding);
    }
  }
  const int64_t green = findings.count(Grade::kGreen);
  text += fmt::format("preflight: {} green, {} yellow, {} red in {}{}\n", green,
                      findings.count(Grade::kYellow), findings.count(Grade::kRed),
                      format_duration(seconds),
                      green > 0 && !verbose ? "; --verbose shows the green lines" : "");
  const bool wrap = columns >= kIndent + kLeastTextColumns;
  return wrap ? wrap_text(text, columns, kIndent) : text;
}

std::string render_json(const PreflightFindings& findings, double seconds) {
  Json lines = Json::array();
  for (const PreflightFinding& finding : findings.all()) {
    lines.push_back({{"grade", name_of(kGrades, finding.grade)},
                     {"check", finding.check},
                     {"found", finding.found},
                     {"next", finding.next},
                     {"code", finding.code.name()},
                     {"exit_code", static_cast<int>(finding.exit_code)}});
  }
  const Json json = {{"findings", lines},
                     {"green", findings.count(Grade::kGreen)},
                     {"yellow", findings.count(Grade::kYellow)},
                     {"red", findings.count(Grade::kRed)},
                     {"exit_code", static_cast<int>(findings.exit_code())},
                     {"seconds", seconds}};
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace encode
