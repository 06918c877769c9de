#include "run_record/progress.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"

namespace encode {
namespace {

constexpr auto kWindow = std::chrono::seconds(30);
// The first batches of a run are announced together. A rate between two of these means nothing.
constexpr auto kShortestWindow = std::chrono::seconds(1);
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kFirstPlainLines = std::chrono::seconds(10);
constexpr auto kLaterPlainLines = std::chrono::seconds(60);

// Leaves out whole facts until the text has at most `width` characters or only one fact, because a
// number that is cut would be read as another number. Keeps the last fact, which is the time left.
std::string fewer_facts(std::string facts, size_t width) {
  constexpr std::string_view kBetween = ", ";
  while (facts.size() > width) {
    const size_t last = facts.rfind(kBetween);
    if (last == std::string::npos) break;
    const size_t before = facts.rfind(kBetween, last - 1);
    if (before == std::string::npos) {
      facts.resize(last);
    } else {
      facts.erase(before, last - before);
    }
  }
  return facts;
}

}  // namespace

std::string progress_line(const std::string& name, double fraction, const std::string& facts,
                          size_t width) {
  constexpr size_t kMaxCells = 30;
  constexpr size_t kMinCells = 5;
  constexpr size_t kBrackets = 3;
  constexpr size_t kShortestName = 12;
  if (width == 0) return name + facts;
  const size_t least = std::min(name.size(), kShortestName);
  const std::string shown = fewer_facts(facts, width > least ? width - least : 0);
  std::string line =
      shorten(name, std::max(least, width > shown.size() ? width - shown.size() : 0));
  const size_t taken = line.size() + shown.size() + kBrackets;
  if (width >= taken + kMinCells) {
    const size_t cells = std::min(kMaxCells, width - taken);
    const auto full = static_cast<size_t>(fraction * static_cast<double>(cells));
    line += fmt::format(" [{:.<{}}]", std::string(full, '#'), cells);
  }
  line += shown;
  if (line.size() > width) line.resize(width);
  return line;
}

std::string render_progress(const ProgressView& view, size_t width) {
  const double fraction =
      view.rows_total > 0
          ? std::clamp(static_cast<double>(view.rows_done) / static_cast<double>(view.rows_total),
                       0.0, 1.0)
          : 1.0;
  std::string facts =
      fmt::format("{:4}% {}/{}", static_cast<int>(fraction * 100), format_count(view.rows_done),
                  format_count(view.rows_total, "row", "rows"));
  if (view.rows_saved >= 0 && view.rows_saved < view.rows_done)
    facts += fmt::format(", {} saved", format_count(view.rows_saved));
  if (view.tokens_per_second > 0)
    facts += fmt::format(", {} tokens/s", format_rate(view.tokens_per_second));
  if (view.seconds_left >= 0) facts += fmt::format(", {} left", format_duration(view.seconds_left));
  return progress_line(view.stream, fraction, facts, width);
}

bool shows_progress(const LogOptions& options) {
  return options.progress && !options.json && options.level != "error";
}

void RateMeter::add(Clock::time_point now, int64_t rows, int64_t tokens) {
  samples_.push_back({now, rows, tokens});
  // Keeps two samples even if one batch takes longer than the window. The rate is then the rate of
  // the last batch.
  while (samples_.size() > 2 && now - samples_[1].time >= kWindow) samples_.pop_front();
}

double RateMeter::per_second(int64_t amount) const {
  const std::chrono::duration<double> time = samples_.back().time - samples_.front().time;
  return time >= kShortestWindow ? static_cast<double>(amount) / time.count() : 0;
}

double RateMeter::rows_per_second() const {
  return samples_.empty() ? 0 : per_second(samples_.back().rows - samples_.front().rows);
}

double RateMeter::tokens_per_second() const {
  return samples_.empty() ? 0 : per_second(samples_.back().tokens - samples_.front().tokens);
}

void Progress::step(const std::string& what) {
  if (enabled_) terminal_.set_status(what);
}

void Progress::update(ProgressView view, int64_t rows_left) {
  view_ = std::move(view);
  rows_left_ = rows_left;
}

double Progress::seconds_left() const {
  const double rate = rate_.rows_per_second();
  return rate > 0 ? static_cast<double>(rows_left_) / rate : -1;
}

void Progress::tick(Clock::time_point now) {
  if (!enabled_ || view_.stream.empty()) return;
  const bool redraw = terminal_.live() && now - drawn_ >= kRedraw;
  const auto interval = now - began_ < kLaterPlainLines ? kFirstPlainLines : kLaterPlainLines;
  const bool log = !terminal_.live() && now - logged_ >= interval;
  if (!redraw && !log) return;
  view_.tokens_per_second = rate_.tokens_per_second();
  view_.seconds_left = seconds_left();
  if (redraw) {
    drawn_ = now;
    terminal_.set_status(render_progress(view_, terminal_.columns() - 1));
  } else {
    logged_ = now;
    log_.info("progress", render_progress(view_, 0),
              {{"stream", view_.stream},
               {"rows_done", view_.rows_done},
               {"rows_saved", view_.rows_saved},
               {"rows_total", view_.rows_total},
               {"tokens_per_second", view_.tokens_per_second},
               {"seconds_left", view_.seconds_left}});
  }
}

}  // namespace encode
