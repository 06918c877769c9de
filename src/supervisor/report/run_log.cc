#include "supervisor/report/run_log.h"

#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <mutex>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>

namespace encode {
namespace {

using Level = spdlog::level::level_enum;

// Writes each record to the Terminal, above its status line.
class TerminalSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit TerminalSink(Terminal& terminal) : terminal_(terminal) {}

 private:
  void sink_it_(const spdlog::details::log_msg& record) override {
    spdlog::memory_buf_t text;
    formatter_->format(record, text);
    std::string line(text.data(), text.size());
    if (terminal_.color() && record.level >= Level::warn) {
      line.insert(line.size() - 1, "\x1b[0m").insert(0, "\x1b[33m");
    }
    terminal_.write(line);
  }
  void flush_() override {}

  Terminal& terminal_;
};

std::string timestamp() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc = {};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 40> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), size};
}

}  // namespace

RunLog::RunLog(const LogOptions& options, Terminal& err, Terminal& out)
    : json_(options.json), level_(spdlog::level::from_str(options.level)), out_(out) {
  terminal_ = std::make_shared<spdlog::logger>("terminal", std::make_shared<TerminalSink>(err));
  terminal_->set_pattern("%H:%M:%S %v");
  terminal_->set_level(json_ ? Level::off : static_cast<Level>(level_));
}

RunLog::~RunLog() = default;

void RunLog::open_file(const std::string& path) {
  try {
    file_ = std::make_shared<spdlog::logger>(
        "file", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
  } catch (const spdlog::spdlog_ex& failure) {
    throw Error({.exit_code = ExitCode::kCantCreate,
                 .code = "log.open",
                 .what = "cannot open the log file",
                 .where = path,
                 .expected = "a file that can be written",
                 .found = failure.what(),
                 .hint = "set logging.file in the config to another path"});
  }
  // The handler ignores errors, because a log that cannot be written (for example on a full disk)
  // must not end the run.
  file_->set_error_handler([](const std::string&) {});
  file_->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  file_->set_level(level_ < Level::info ? static_cast<Level>(level_) : Level::info);
  file_->flush_on(Level::info);
}

void RunLog::debug(std::string_view event, const std::string& message, Json fields) {
  write(Level::debug, event, message, std::move(fields));
}

void RunLog::info(std::string_view event, const std::string& message, Json fields) {
  write(Level::info, event, message, std::move(fields));
}

void RunLog::warning(std::string_view event, const std::string& message, Json fields) {
  write(Level::warn, event, "warning: " + message, std::move(fields));
}

void RunLog::write(int level, std::string_view event, const std::string& message, Json fields) {
  terminal_->log(static_cast<Level>(level), message);
  if (file_) file_->log(static_cast<Level>(level), message);
  if (json_ && level >= level_) write_json(level, event, message, std::move(fields));
}

void RunLog::write_json(int level, std::string_view event, const std::string& message,
                        Json fields) {
  const spdlog::string_view_t name = spdlog::level::to_string_view(static_cast<Level>(level));
  fields["time"] = timestamp();
  fields["level"] = std::string(name.data(), name.size());
  fields["event"] = event;
  if (!message.empty()) fields["message"] = message;
  out_.write(fields.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void RunLog::final_error(const ErrorDetail& detail) {
  if (file_) file_->log(Level::err, render(detail));
  if (!json_) return;
  write_json(Level::err, "error", detail.what,
             {{"exit_code", static_cast<int>(detail.exit_code)},
              {"code", detail.code},
              {"where", detail.where},
              {"expected", detail.expected},
              {"found", detail.found},
              {"hint", detail.hint}});
}

void RunLog::result(std::string_view event, const std::string& text, Json fields) {
  if (file_) file_->log(Level::info, "\n" + text);
  if (json_) {
    write_json(Level::info, event, "", std::move(fields));
  } else if (level_ <= Level::info) {
    out_.write(text);
  }
}

}  // namespace encode
