// What `encode status` shows of an experiment in shards: how far all shards are together. Any
// thread may call these functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run_record/run_status.h"

namespace encode {

enum class ShardState {
  kPublished,    // part.json names an attempt: the shard is encoded
  kAtWork,       // its newest attempt works, or has told so lately on another machine
  kInterrupted,  // its newest attempt was stopped, or has ended without a message
  kFailed,       // its newest attempt has ended with an error
  kNotBegun,     // it has no attempt
};

// The shards whose newest attempts have ended for the same reason.
struct ShardFailure {
  int64_t exit_code = 0;  // 0: the attempts were stopped, or have left no message
  std::string code = {};  // of the error; or ""
  std::string what;       // of the first of them; text from a file
  std::vector<int64_t> shards = {};
};

// An attempt at work.
struct RunningShard {
  int64_t shard = 0;
  std::string folder;  // its cache directory: an argument for `encode status`
  std::string host;    // text from a file
  int64_t rows = 0;    // of all streams of the shard
  int64_t rows_done = 0;
  double rows_per_second = 0;  // 0: it has not told yet
  double seconds_left = -1;    // -1: not known
};

struct ShardsStatus {
  std::string cache_dir;
  std::string config_path;                  // for the advice; "" if it is not known
  std::vector<ShardState> states = {};      // by shard
  std::vector<ShardFailure> failures = {};  // those of the most shards first
  std::vector<RunningShard> running = {};   // by shard
  int64_t rows = 0;                         // of all streams and shards
  int64_t rows_done = 0;                    // computed by an attempt at work, or saved
  std::vector<std::string> merged = {};     // merged_files(), if all shards are published
  std::vector<std::string> problems = {};   // one sentence for each thing that cannot be read

  std::vector<int64_t> shards_in(ShardState state) const;  // ascending
  std::vector<int64_t> missing() const;                    // those that are not published
  double rows_per_second() const;                          // of all attempts at work
  // Returns how long the attempts at work would take for all rows that are missing; -1: not known.
  double seconds_left() const;
  // Returns the attempt at work that encodes the fewest rows in a second; null if none has told.
  const RunningShard* slowest() const;
  // Returns what to do next: one sentence with the command.
  std::string advice() const;
  // Returns "running", "done" (all shards are published) or "incomplete".
  std::string state() const;
};

// Returns true if the directory has a plan of shards. Throws no Error.
bool has_shard_plan(const std::string& cache_dir);

// Reads the plan, the record of each shard, and LOCK, status.json and the logs of chunks of the
// newest attempt at a shard that has no record. Reads many shards at once. Takes no lock and
// changes no file. A shard that cannot be read becomes a sentence in `problems`. `config_path` may
// be "". Throws what read_shard_plan() throws.
ShardsStatus read_shards_status(const std::string& cache_dir, const std::string& config_path);

// Shows each experiment in shards among `status.runs` with the state and the rows of all its
// shards. Throws no Error: one that cannot be read stays as it is.
void read_shards_below(RunStatus& status);

// Both escape the text that comes from files. The text has several lines and ends in '\n'; the JSON
// document has no newline.
std::string render_text(const ShardsStatus& status);
std::string render_json(const ShardsStatus& status);

}  // namespace encode
