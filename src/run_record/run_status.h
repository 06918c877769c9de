// What `encode status` shows: the state of a run, determined from its cache directory alone. Any
// thread may call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/cache_counts.h"
#include "encode/config.h"
#include "encode/stage_seconds.h"

#include "base/json.h"
#include "run_record/fault_log.h"
#include "run_record/memory_log.h"
#include "run_record/run_command.h"
#include "run_record/run_of_output.h"
#include "store/audit.h"

namespace encode {

// The facts that are known before the directory is read.
struct StatusRequest {
  struct Stream {
    std::string name;
    std::string final_path;
  };
  std::string cache_dir;             // "": the run has left none
  std::string output = {};           // its record is read if the directory is gone; or ""
  std::vector<Stream> streams = {};  // of the config; empty if only the directory is known
  std::string config_path = {};      // for the advice; "": the path that status.json names
};

StatusRequest status_request(const RunConfig& config);
StatusRequest status_request(const RunOfOutput& run);
// Returns the request for an output, or for the run in a directory. Throws what run_of_output() and
// read_manifest() throw.
StatusRequest request_of(const std::string& output_or_directory);
// Returns the request for the run in this cache directory. Throws what read_manifest() throws for
// the matrix of the run.
StatusRequest status_request_of_directory(const std::string& cache_dir);

struct StreamStatus {
  // kEncoding: a worker is encoding the stream now.
  enum class State { kNotStarted, kEncoding, kPartial, kDone, kUnreadable };
  std::string name;
  std::string final_path;  // of its matrix, which may not exist yet
  State state = State::kNotStarted;
  int64_t rows = -1;          // -1: not known
  int64_t rows_done = 0;      // the rows that are saved
  int64_t rows_computed = 0;  // rows_done and the rows that a worker has computed but not saved
  int64_t chunks = -1;        // -1: not known
  int64_t chunks_done = 0;
  int64_t rows_set_aside = 0;
};

// A worker of a run with several devices.
struct WorkerStatus {
  std::string device;  // "cuda:1", "cpu#2"
  std::string name;    // DeviceFacts::name; "" before its model is loaded
  std::string state;   // one of kWorkerStates, or a state of another version
  std::string stream;  // the stream that it encodes; or ""
};

// A run that ended before it had changed any result of the run before it.
struct RefusedRun {
  int64_t time = 0;  // in seconds since 1970
  std::string code;
  std::string what;
  std::string where;
  int64_t exit_code = 0;
};

// A run or an output below a folder.
struct RunBelow {
  std::string path;        // an argument for `encode status`
  std::string state = {};  // RunStatus::state, or "unreadable"
  int64_t rows = 0;        // of the streams whose rows are known
  int64_t rows_done = 0;
};

struct RunStatus {
  std::string cache_dir;
  LockState lock;
  // "running"; a state of a run that has ended: "done", "stopped", "failed", "died" (it ended
  // without a message, for example by SIGKILL); "none": no run has written a status;
  // "unknown": the lock cannot be read.
  std::string state;
  // What the run said last: "scanning", or one of kRunPhases (status_file.h).
  std::string phase;
  int64_t written = 0;  // when status.json was written, in seconds since 1970; 0: never
  int64_t started = 0;  // 0: not known
  int64_t restarts = 0;
  double rows_per_second = 0;  // the rates are 0 and the time is -1 if the run does not encode
  double tokens_per_second = 0;
  double seconds_left = -1;
  std::string error_code;  // the error of a run that has failed; or ""
  std::string error_what;
  std::string error_where;
  int64_t exit_code = 0;
  std::optional<RefusedRun> refused;  // a later, refused run; no other field is about it
  std::string config_path;
  RunCommand command;      // the command that started the run
  std::string input_copy;  // the copy of the standard input that the run has read; "" if none
  std::vector<StreamStatus> streams;  // sorted by name, or in the order of the config
  std::vector<WorkerStatus> workers;  // empty if the run has one device
  CacheCounts reuse;                  // of the last run
  StageSeconds stages;                // the sum over the workers of the last run
  // The last fault of a run that could not write its end to status.json, for example because the
  // disk was full. If the run gave up because of it, this is also the error of the run.
  std::optional<FaultRecord> last_fault;
  std::vector<FaultSummary> faults;   // of all runs in the records; the most frequent first
  bool faults_dropped = false;        // true: older records were dropped
  std::vector<MemorySample> memory;   // of the last run, oldest first
  std::vector<GpuWarning> warnings;   // of the last run, oldest first
  std::vector<std::string> problems;  // one sentence for each thing that cannot be read
  std::vector<RunBelow> runs;         // those below a directory that is not a cache directory
  int64_t more_runs = 0;              // the number of runs that are not in `runs`
  // If the user has named no run, the newer runs in the current directory, the latest first.
  std::vector<RunBelow> newer = {};
  std::string advice;  // what to do next: one sentence with the command
};

// Reads the directory. If no run has used it and there is only one run below it, reads the
// directory of that run instead. Never takes the lock and never changes a file; the files may
// change meanwhile. Everything that is damaged becomes a sentence in `problems`. Throws Error
// kNoInput or kNoPermission "status.directory" if the directory cannot be listed. Any thread may
// call it.
RunStatus read_run_status(const StatusRequest& request);

// kShort shows what a person needs to know of a run that goes well, in about 15 lines, and
// everything that goes wrong. kFull also shows the devices, what was reused, the stages, each
// fault, and the memory.
enum class StatusDetail { kShort, kFull };

// Both escape the text that comes from files. The text has several lines and ends in '\n'; the JSON
// document has no newline.
std::string render_text(const RunStatus& status, StatusDetail detail);
std::string render_json(const RunStatus& status);

}  // namespace encode
