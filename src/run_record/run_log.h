// The log of a run: text for people on standard error and in the log file, and JSON lines for
// programs on standard output. Apart from opening the log file, it throws no Error.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "encode/config.h"
#include "encode/error.h"

#include "base/json.h"
#include "run_record/terminal.h"

namespace spdlog {
class logger;
}

namespace encode {

// Thread-safe, except for open_file(). On a live terminal with a progress bar, only warnings are
// written to standard error; the level debug shows everything there. Terminal::wrapped() breaks the
// lines on the terminal, but not in the file. With LogOptions::json the log writes nothing to
// standard error. Each record is then one object {"time","level","event","message", ...fields} on
// standard output.
class RunLog {
 public:
  // `err` is standard error and `out` is standard output. Both must outlive the log.
  RunLog(const LogOptions& options, Terminal& err, Terminal& out);
  ~RunLog();

  // Throws the Error with which open_file() would refuse the file, and does not create it.
  static void check_file(const std::string& path);
  // Opens the log file, to which the log then appends all further records. Throws Error
  // "log.open": kOsError if the system refuses a descriptor, otherwise kCantCreate.
  void open_file(const std::string& path);

  // `event` is for programs: its values do not change between versions. `message` is for people and
  // may have several lines.
  void debug(std::string_view event, const std::string& message, Json fields = Json::object());
  void info(std::string_view event, const std::string& message, Json fields = Json::object());
  // Does the same as info(), but writes to standard error only at the level debug. Use it for
  // records that are too many for a terminal; people find them in the file.
  void detail(std::string_view event, const std::string& message, Json fields = Json::object());
  void warning(std::string_view event, const std::string& message, Json fields = Json::object());
  // Writes the error that ends the program to the file and as a JSON line. It does not write to
  // standard error, because main() prints the error there.
  void final_error(const ErrorDetail& detail);
  // Writes `text` to the file, and to standard output if the level is not above "warning". With
  // LogOptions::json standard output gets a JSON line of `fields` instead, at any level.
  void result(std::string_view event, const std::string& text, Json fields);

 private:
  // The levels of a record, each a spdlog::level_enum.
  struct Levels {
    int recorded;  // in the log file and in JSON
    int shown;     // on standard error
  };
  void write(Levels levels, std::string_view event, const std::string& message, Json fields);
  void write_json(int level, std::string_view event, const std::string& message, Json fields);

  const bool json_;
  const int level_;  // a spdlog::level_enum
  Terminal& out_;
  std::shared_ptr<spdlog::logger> terminal_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream_{nullptr, &std::fclose};
  std::shared_ptr<spdlog::logger> file_;  // writes to `stream_`
};

// Returns what `work` returns. Writes an Error that it throws to the log with final_error(), and
// throws it again.
template <typename Work>
auto logging_errors(RunLog& log, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    log.final_error(error.detail());
    throw;
  }
}

}  // namespace encode
