#include "preflight/findings.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/json.h"
#include "base/names.h"
#include "base/units.h"
#include "base/utf8.h"

namespace encode {
namespace {

constexpr NameTable<Grade, 3> kGrades = {
    {{"green", Grade::kGreen}, {"yellow", Grade::kYellow}, {"red", Grade::kRed}}};

// The columns before the text of a finding.
constexpr size_t kGradeColumns = 8;
constexpr size_t kCheckColumns = 18;

// Text of several lines is aligned below its first line.
std::string aligned(const std::string& text) {
  std::string result;
  for (const char c : printable(text)) {
    result += c;
    if (c == '\n') result.append(kGradeColumns + kCheckColumns, ' ');
  }
  return result;
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
  const bool known = std::any_of(all_.begin(), all_.end(), [&](const PreflightFinding& other) {
    return other.code == error.code && other.found == found;
  });
  if (known) return;
  all_.push_back({.grade = Grade::kRed,
                  .check = std::move(check),
                  .found = std::move(found),
                  .next = error.hint,
                  .code = error.code,
                  .exit_code = error.exit_code,
                  .step = step_});
}

void PreflightFindings::add(const PreflightFindings& more) {
  all_.insert(all_.end(), more.all_.begin(), more.all_.end());
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

std::string render_text(const PreflightFindings& findings, double seconds) {
  std::string text;
  for (const PreflightFinding& finding : findings.all()) {
    const std::string code = finding.code ? fmt::format("[{}] ", finding.code.name()) : "";
    text +=
        fmt::format("{:<{}}{:<{}}{}{}\n", name_of(kGrades, finding.grade), kGradeColumns,
                    printable(finding.check) + "  ", kCheckColumns, code, aligned(finding.found));
    if (finding.next.empty()) continue;
    text +=
        fmt::format("{:{}}next: {}\n", "", kGradeColumns + kCheckColumns, aligned(finding.next));
  }
  return text + fmt::format("preflight: {} green, {} yellow, {} red in {}\n",
                            findings.count(Grade::kGreen), findings.count(Grade::kYellow),
                            findings.count(Grade::kRed), format_duration(seconds));
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
