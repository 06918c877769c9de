#include "pull_progress.h"

#include <fmt/format.h>

#include "base/units.h"
#include "run_record/progress.h"

namespace encode {

void PullProgress::note(const std::string& text) { terminal_.write(text + "\n"); }

void PullProgress::begin(const std::string& path, int64_t done, Clock::time_point now) {
  path_ = path;
  first_bytes_ = done;
  begun_ = now;
  shown_ = now;
}

std::string PullProgress::facts(int64_t done, int64_t total, Clock::time_point now) const {
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  const double rate = static_cast<double>(done - first_bytes_) / seconds;
  const double percent = 100.0 * static_cast<double>(done) / static_cast<double>(total);
  std::string text =
      fmt::format("{:4.0f}% {}/{}", percent, format_bytes(done), format_bytes(total));
  if (rate > 0) {
    text += fmt::format(", {}/s, {} left", format_bytes(static_cast<int64_t>(rate)),
                        format_duration(static_cast<double>(total - done) / rate));
  }
  return text;
}

void PullProgress::progress(const std::string& path, int64_t done, int64_t total) {
  constexpr auto kRedraw = std::chrono::milliseconds(100);
  constexpr auto kPlainLine = std::chrono::seconds(10);
  const Clock::time_point now = Clock::now();
  if (path != path_ || done < first_bytes_) begin(path, done, now);
  if (now - shown_ < kRedraw || (!terminal_.live() && now - shown_ < kPlainLine)) return;
  shown_ = now;
  const double fraction = static_cast<double>(done) / static_cast<double>(total);
  const std::string name = preview(path);
  if (terminal_.live()) {
    terminal_.set_status(
        progress_line(name, fraction, facts(done, total, now), terminal_.columns() - 1));
  } else {
    terminal_.write(progress_line(name, fraction, facts(done, total, now), 0) + "\n");
  }
}

void PullProgress::finished(const std::string& path, int64_t total, int64_t fetched) {
  terminal_.set_status("");
  path_.clear();
  terminal_.write(fmt::format("{} {} ({})\n", fetched > 0 || total == 0 ? "fetched" : "had",
                              preview(path), format_bytes(total)));
}

}  // namespace encode
