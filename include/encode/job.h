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

// One stream that is not finished. The worker opens the stream's ChunkStore itself and encodes the
// pending chunks.
struct JobUnit {
  StreamIdentity identity;
  InputOptions input;  // `path` is a real file
  InputScan scan;
  SpeedOptions speed;
  std::string model_path;     // the model directory, absolute
  EffectiveResult effective;  // the result options, resolved against the model directory
  int64_t chunk_rows = 0;
  bool chunk_files = true;  // false: the standard mode, which writes to final_path directly
  // Each chunk with an index below this number is encoded alone; other chunks may be encoded
  // together. Some chunk below this number has failed, and encoding each of them alone shows which
  // one.
  int64_t alone_below = 0;
  std::string final_path;
};

// The supervisor writes the JobSpec to a file as JSON and gives the worker the path of that file.
struct JobSpec {
  std::string cache_dir;
  HardwareOptions hardware;
  std::vector<JobUnit> units;
  // If this is above 0, the worker encodes nothing. It times the matrix products of the first
  // unit's first batches for about this number of seconds and sends the rates as ProductsTimed. It
  // also sends UnitStarted, with the batch plan, for every unit.
  double product_seconds = 0;
};

// Throws Error kConfig "job.utf8" for a path or an option that is not UTF-8.
std::string to_json(const JobSpec& spec);
// Throws Error kInternal "job.protocol" for a text that to_json() cannot have written.
JobSpec job_spec_from_json(const std::string& json);

}  // namespace encode
