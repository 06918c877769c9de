#include "preflight/findings.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
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

constexpr size_t kIndent = kGradeColumns + kCheckColumns;
// In a terminal with less room for the text, wrapped lines would be harder to read than long ones.
constexpr size_t kLeastTextColumns = 30;

// The characters of UTF-8 text. Most of them take one column.
size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

// Appends a finding to lines that are `columns` wide, with all lines below the first one indented.
class Lines {
 public:
  Lines(std::string& text, size_t columns)
      : text_(text), columns_(columns < kIndent + kLeastTextColumns ? 0 : columns) {}

  // Appends text at the end of the line, of which `used` columns are taken. Text of several lines
  // keeps them.
  void append(size_t used, const std::string& lines) {
    used_ = used;
    std::string_view rest = lines;
    while (true) {
      const size_t end = rest.find('\n');
      append_line(rest.substr(0, end));
      if (end == std::string_view::npos) break;
      break_line();
      rest.remove_prefix(end + 1);
    }
    text_ += '\n';
  }

 private:
  void break_line() {
    text_ += '\n';
    text_.append(kIndent, ' ');
    used_ = kIndent;
  }

  // Breaks the line before words that do not fit. A longer word than a line stays whole.
  void append_line(std::string_view line) {
    for (bool first = true; !line.empty(); first = false) {
      const size_t space = line.find(' ', 1);
      std::string_view word = line.substr(0, space);  // with the space before it
      line.remove_prefix(word.size());
      if (!first && columns_ > 0 && used_ + characters(word) > columns_) {
        break_line();
        word.remove_prefix(1);
      }
      text_ += word;
      used_ += characters(word);
    }
  }

  std::string& text_;
  const size_t columns_;
  size_t used_ = 0;
};

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

std::string render_text(const PreflightFindings& findings, double seconds, size_t columns) {
  std::string text;
  Lines lines(text, columns);
  for (const PreflightFinding& finding : findings.all()) {
    const std::string code = finding.code ? fmt::format("[{}] ", finding.code.name()) : "";
    const std::string begin =
        fmt::format("{:<{}}{:<{}}", name_of(kGrades, finding.grade), kGradeColumns,
                    printable(finding.check) + "  ", kCheckColumns);
    text += begin;
    lines.append(characters(begin), code + printable(finding.found));
    if (finding.next.empty()) continue;
    text.append(kIndent, ' ');
    lines.append(kIndent, "next: " + printable(finding.next));
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
