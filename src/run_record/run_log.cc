#include "run_record/run_log.h"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/file.h"
#include "base/system_call.h"
#include "base/utf8.h"

namespace encode {
namespace {

using Level = spdlog::level::level_enum;

constexpr std::string_view kTerminalPattern = "%H:%M:%S %v";
constexpr size_t kMessageColumn = std::string_view("12:00:00 ").size();

// Writes each record above the status line of the Terminal. The sinks of spdlog would overwrite
// this line.
class TerminalSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit TerminalSink(Terminal& terminal) : terminal_(terminal) {}

 private:
  void sink_it_(const spdlog::details::log_msg& record) override {
    spdlog::memory_buf_t text;
    formatter_->format(record, text);
    std::string line = terminal_.wrapped({text.data(), text.size()}, kMessageColumn);
    if (terminal_.color() && record.level >= Level::warn) {
      line.insert(line.size() - 1, "\x1b[0m").insert(0, "\x1b[33m");
    }
    terminal_.write(line);
  }
  void flush_() override {}

  Terminal& terminal_;
};

Error log_error(const std::string& path, int error_number) {
  ErrorDetail detail = system_error("log.open", "open the log file", path, error_number).detail();
  if (detail.exit_code != ExitCode::kOsError) detail.exit_code = ExitCode::kCantCreate;
  detail.hint = "give another path, as --set log.file=PATH or log.file in the config";
  return Error(std::move(detail));
}

UniqueFd open_log(const std::string& path, int more_flags) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  UniqueFd fd(retried([&] { return ::open(path.c_str(), kFlags | more_flags, 0666); }));
  if (!fd) throw log_error(path, errno);
  return fd;
}

}  // namespace

RunLog::RunLog(const LogOptions& options, Terminal& err, Terminal& out)
    : json_(options.json), level_(spdlog::level::from_str(options.level)), out_(out) {
  terminal_ = std::make_shared<spdlog::logger>("terminal", std::make_shared<TerminalSink>(err));
  terminal_->set_pattern(std::string(kTerminalPattern));
  const bool bar = err.live() && options.progress;
  const auto shown = static_cast<Level>(bar && level_ == Level::info ? Level::warn : level_);
  terminal_->set_level(json_ ? Level::off : shown);
}

RunLog::~RunLog() = default;

void RunLog::check_file(const std::string& path) {
  if (entry_exists(path, "log.open")) {
    open_log(path, 0);
    return;
  }
  constexpr int kWrite = W_OK | X_OK;
  if (::faccessat(AT_FDCWD, parent_directory(path).c_str(), kWrite, AT_EACCESS) != 0)
    throw log_error(path, errno);
}

void RunLog::open_file(const std::string& path) {
  UniqueFd fd = open_log(path, O_CREAT);
  stream_.reset(::fdopen(fd.get(), "a"));
  if (!stream_) throw log_error(path, errno);
  fd.release();
  // spdlog's sink for a file name would follow a link. This one ignores errors: a log that cannot
  // be written (for example on a full disk) must not end the run.
  using Sink = spdlog::sinks::stdout_sink_base<spdlog::details::console_mutex>;
  file_ = std::make_shared<spdlog::logger>("file", std::make_shared<Sink>(stream_.get()));
  file_->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  file_->set_level(level_ < Level::info ? static_cast<Level>(level_) : Level::info);
}

void RunLog::debug(std::string_view event, const std::string& message, Json fields) {
  write({Level::debug, Level::debug}, event, message, std::move(fields));
}

void RunLog::info(std::string_view event, const std::string& message, Json fields) {
  write({Level::info, Level::info}, event, message, std::move(fields));
}

void RunLog::detail(std::string_view event, const std::string& message, Json fields) {
  write({Level::info, Level::debug}, event, message, std::move(fields));
}

void RunLog::warning(std::string_view event, const std::string& message, Json fields) {
  write({Level::warn, Level::warn}, event, "warning: " + message, std::move(fields));
}

void RunLog::write(Levels levels, std::string_view event, const std::string& message, Json fields) {
  const std::string text = printable(message);
  terminal_->log(static_cast<Level>(levels.shown), text);
  if (file_) file_->log(static_cast<Level>(levels.recorded), text);
  if (json_ && levels.recorded >= level_)
    write_json(levels.recorded, event, message, std::move(fields));
}

void RunLog::write_json(int level, std::string_view event, const std::string& message,
                        Json fields) {
  const spdlog::string_view_t name = spdlog::level::to_string_view(static_cast<Level>(level));
  fields["time"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  fields["level"] = std::string(name.data(), name.size());
  fields["event"] = event;
  if (!message.empty()) fields["message"] = message;
  out_.write(fields.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n");
}

void RunLog::final_error(const ErrorDetail& detail) {
  if (file_) file_->log(Level::err, render(detail));
  if (!json_) return;
  write_json(Level::err, "error", detail.what,
             {{"exit_code", static_cast<int>(detail.exit_code)},
              {"code", detail.code.name()},
              {"where", detail.where},
              {"expected", detail.expected},
              {"found", detail.found},
              {"hint", detail.hint}});
}

void RunLog::result(std::string_view event, const std::string& text, Json fields) {
  const std::string shown = printable(text);
  if (file_) file_->log(Level::info, "\n" + shown);
  if (json_) {
    write_json(Level::info, event, "", std::move(fields));
  } else if (level_ <= Level::warn) {
    out_.write(shown);
  }
}

}  // namespace encode
