// What the supervisor (encode) hands to its child (encode-worker).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"
#include "encode/store.h"
#include "encode/text.h"

namespace encode {

// One stream with work left. The worker opens its ChunkStore itself and encodes what is pending.
struct JobUnit {
  StreamIdentity identity;
  InputOptions input;  // `path` is a real file
  InputScan scan;
  SpeedOptions speed;
  std::string model_path;     // the model directory, absolute
  EffectiveResult effective;  // the result options, resolved against that directory
  int64_t chunk_rows = 0;
  bool chunk_files = true;  // false: standard mode, straight into final_path
  // A chunk below this number goes through the device alone, and others may go together: one of
  // the chunks below it has failed, and encoding each of them alone shows which.
  int64_t alone_below = 0;
  std::string final_path;
};

// Travels as JSON in a file; the worker gets the path of that file.
struct JobSpec {
  std::string cache_dir;
  HardwareOptions hardware;
  std::vector<JobUnit> units;
  // If this is above 0, the worker encodes nothing. It times the matrix products of the first
  // unit's first batches for about as many seconds and sends them as ProductsTimed. It also sends
  // UnitStarted, with the batch plan, for every unit.
  double product_seconds = 0;
};

// Throws Error kConfig "job.utf8" for a path or an option that is not UTF-8.
std::string to_json(const JobSpec& spec);
// Throws Error kInternal "job.protocol" for a text that to_json() cannot have written.
JobSpec job_spec_from_json(const std::string& json);

}  // namespace encode
