#include "pull_models.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <fmt/format.h>
#include <set>
#include <string>
#include <utility>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "base/units.h"
#include "hub/observer.h"
#include "model_dir/hub_cache.h"
#include "run_record/progress.h"

namespace encode {
namespace {

// Shows a download: a live line on a terminal, or lines in a log. Not thread-safe.
class PullProgress : public hub::PullObserver {
 public:
  explicit PullProgress(Terminal& terminal) : terminal_(terminal) {}  // must outlive this object

  void note(const std::string& text) override;
  void progress(const std::string& path, int64_t done, int64_t total) override;
  void finished(const std::string& path, int64_t total, int64_t fetched) override;

 private:
  using Clock = std::chrono::steady_clock;
  void begin(const std::string& path, int64_t done, Clock::time_point now);
  std::string facts(int64_t done, int64_t total, Clock::time_point now) const;

  Terminal& terminal_;
  std::string path_;         // the file that is downloaded
  int64_t first_bytes_ = 0;  // the bytes of the file that existed when its download began
  Clock::time_point begun_;
  Clock::time_point shown_;
};

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

// Returns true if the model is missing, or a part of it. The run reports any other problem of a
// model.
bool is_missing(const ResultOptions& options) {
  try {
    open_model_directory(resolve_model(options.model, options.revision),
                         custom_code_policy(options.ignore_custom_code));
    return false;
  } catch (const Error& error) {
    return error.detail().code == "model.not_found" || error.detail().code == "model.missing";
  }
}

}  // namespace

hub::PullResult pull_model(const hub::PullRequest& request, const hub::HubSettings& settings,
                           Terminal& err) {
  std::signal(SIGPIPE, SIG_IGN);  // a server may close a connection at any time
  PullProgress progress(err);
  return hub::pull(request, settings, progress);
}

void pull_missing_models(const RunConfig& config, Terminal& terminal) {
  Terminal silent(-1);
  Terminal& err = config.log.level == "error" ? silent : terminal;
  std::set<std::pair<std::string, std::string>> seen;
  for (const StreamConfig& stream : config.streams) {
    const ResultOptions& options = stream.result;
    const std::string revision = options.revision.value_or(kDefaultRevision);
    if (!seen.emplace(options.model, revision).second) continue;
    const bool is_hub_id = split_path(options.model).size() == 2 && is_safe_path(options.model);
    if (!is_hub_id || !is_missing(options)) continue;
    err.write(fmt::format("pulling {} ({})\n", options.model, revision));
    pull_model({.model = options.model,
                .revision = revision,
                .code = custom_code_policy(options.ignore_custom_code)},
               hub::hub_settings(), err);
  }
}

}  // namespace encode
