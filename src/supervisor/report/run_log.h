// The log of a run. People read text on standard error and in the log file; programs read JSON
// lines on standard output.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "encode/config.h"
#include "encode/error.h"

#include "base/json.h"
#include "supervisor/report/terminal.h"

namespace spdlog {
class logger;
}

namespace encode {

// Thread-safe. With LogOptions::json the terminal stays silent: each record is one object
// {"time","level","event","message", ...fields} on standard output.
class RunLog {
 public:
  // `err` and `out` outlive the log; they are standard error and standard output.
  RunLog(const LogOptions& options, Terminal& err, Terminal& out);
  ~RunLog();

  // From now on records go to this file too (appended). Throws Error kCantCreate or kNoPermission.
  void open_file(const std::string& path);

  // `event` is stable, for programs; `message` is for people and may have several lines.
  void debug(std::string_view event, const std::string& message, Json fields = Json::object());
  void info(std::string_view event, const std::string& message, Json fields = Json::object());
  void warning(std::string_view event, const std::string& message, Json fields = Json::object());
  // To the file and the JSON lines only: main() prints the error that ends the program.
  void final_error(const ErrorDetail& detail);
  // A result: text on standard output (and in the file), whatever the level, unless it is above
  // "info".
  void result(std::string_view event, const std::string& text, Json fields);

 private:
  void write(int level, std::string_view event, const std::string& message, Json fields);
  void write_json(int level, std::string_view event, const std::string& message, Json fields);

  const bool json_;
  const int level_;  // spdlog::level
  Terminal& out_;
  std::shared_ptr<spdlog::logger> terminal_;
  std::shared_ptr<spdlog::logger> file_;
};

}  // namespace encode
