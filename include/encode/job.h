// The job that the supervisor (encode) hands to its child process (encode-worker).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"
#include "encode/store.h"
#include "encode/text.h"

namespace encode {

// One stream that is not finished. The worker opens the stream's ChunkStore itself and encodes the
// chunks that are pending.
struct JobUnit {
  StreamIdentity identity;
  InputOptions input;  // `path` is a real file, never "-"
  InputScan scan;
  SpeedOptions speed;
  std::string model_path;     // the model directory, absolute
  EffectiveResult effective;  // the result options, resolved against that directory
  int64_t chunk_rows = 0;
  bool chunk_files = true;  // false: the standard mode, which writes straight to final_path
  // A chunk with a lower index is encoded alone; other chunks may share a window. The supervisor
  // sets it after a failure, so that the next failure shows which chunk is the cause.
  int64_t alone_below = 0;
  std::string final_path;  // only without chunk_files
};

// One job of a worker. It is written as JSON to a file, and the worker gets the path of the file.
struct JobSpec {
  std::string cache_dir;
  HardwareOptions hardware;
  std::vector<JobUnit> units;
  // If above 0, the worker encodes nothing. It times the matrix products of each unit's first
  // batches for about this many seconds, and reports ProductsTimed.
  double product_seconds = 0;
};

std::string to_json(const JobSpec& spec);             // throws Error kConfig if a path is not UTF-8
JobSpec job_spec_from_json(const std::string& json);  // throws Error kInternal

}  // namespace encode
