// What LOCK and status.json of a cache directory say of a run. read_run_status() adds what the rest
// of the directory shows. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "encode/error.h"

#include "base/json.h"
#include "run_record/run_status.h"

namespace encode {

// What status.json says about a stream that the last worker had.
struct ReportedStream {
  int64_t rows = 0;
  int64_t rows_computed = 0;
  bool encoding = false;  // a worker is encoding it
};
using ReportedStreams = std::map<std::string, ReportedStream>;  // by name

// Sets `lock`, `state` and the fields of `status` that status.json has. The file counts only if the
// process that LOCK names has written it: a run that has just begun leaves the file of the run
// before it. A run on another machine, whose lock may not be seen here, counts as running if its
// last report is at most `heard_of_seconds` old. What cannot be read becomes a sentence in
// `problems`. Throws no Error.
ReportedStreams read_run_state(RunStatus& status, int64_t heard_of_seconds = 0);

// Takes the fields of status.json. An older version writes fewer keys, so a missing key counts as
// not known. Throws Error "status.damaged" for a field that is not valid.
void take_status_file(const Json& json, const std::string& path, RunStatus& status);

// Returns false only if the file certainly does not exist. A link counts as a file. Throws no
// Error.
bool is_there(const std::string& path);

// Adds a sentence about an Error that reading the file has thrown.
void add_problem(RunStatus& status, const std::string& path, const ErrorDetail& detail);

// Calls `read` and turns its Error into a sentence. Returns false if there was one.
template <typename Read>
bool guarded_read(RunStatus& status, const std::string& path, const Read& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    add_problem(status, path, error.detail());
    return false;
  }
}

}  // namespace encode
