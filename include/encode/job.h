// The job that the supervisor (encode) gives to its child (encode-worker). A job consists of units.
// Any thread may call the functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/model_directory.h"
#include "encode/store.h"
#include "encode/text.h"

namespace encode {

// One unit of a job: a stream that is not finished. The worker opens the stream's ChunkStore itself
// and encodes the pending chunks.
struct JobUnit {
  StreamIdentity identity;
  InputOptions input;  // `path` is a real file
  InputScan scan;
  SpeedOptions speed;
  std::string model_path;             // the model directory, absolute
  std::vector<FileHash> model_files;  // as in the fingerprint; the worker loads no other files
  EffectiveResult effective;          // the result options, resolved against the model directory
  int64_t chunk_rows = 0;
  bool chunk_files = true;  // false: the standard mode, which writes to final_path directly
  std::string final_path;
  // The size of a window of this unit, as a share of the usual size, in (0, 1]. After the kernel
  // has killed a worker for lack of host memory, the next worker gets a smaller share.
  double window_share = 1;
  // The share of the host's processors and of SpeedOptions::prefetch_bytes that this worker may
  // use, in (0, 1]. Several workers of one run share the host.
  double host_share = 1;
  // DeviceFacts::name -> the most tokens in a batch on this device. Earlier workers found that the
  // device has too little memory for larger batches.
  std::map<std::string, int64_t> budget_limits = {};
  // The rows that made earlier workers fail, ascending. The worker does not encode them, and lists
  // them in the ledgers of their chunks.
  std::vector<SetAsideRow> set_aside = {};
  // A range that contains a row which made earlier workers fail; empty: none. Before it encodes
  // anything else, the worker encodes this range in kProbeParts parts, tells the supervisor before
  // and after each part, and throws the vectors away. If it fails, the supervisor knows which part
  // has the row.
  RowRange probe = {};
  // Another worker searches these rows for the row that makes workers fail. This worker skips every
  // chunk that contains one of them.
  std::vector<RowRange> avoid = {};
  // Rows that were on the device when earlier workers failed. While a window with one of these rows
  // is encoded, no other window is on the device, so that a failure must come from this window.
  std::vector<RowRange> alone = {};
};

// The number of parts of JobUnit::probe. With 16 parts, three workers find one row among 4,096.
inline constexpr int64_t kProbeParts = 16;

// The supervisor writes the JobSpec to a file as JSON and gives the worker the path of that file.
struct JobSpec {
  std::string cache_dir;
  std::string lock_token = {};  // of the supervisor's CacheLock; "": it has none (bench, preflight)
  std::string lock_dir = {};    // the directory of this lock; "": `cache_dir`
  HardwareOptions hardware;
  EmbeddingCacheOptions embedding_cache = {};
  std::vector<JobUnit> units;
  // If this is above 0, the worker encodes nothing. It times the matrix products of the first
  // unit's first batches for about this number of seconds and sends the rates as ProductsTimed. It
  // also sends UnitStarted, with the batch plan, for every unit.
  double product_seconds = 0;
  // True only for `encode bench --measure-refused`: a quantized type that changes the vectors of a
  // model too much is then measured, not refused.
  bool measure_refused = false;
  // The number of workers that encode these units at the same time. If it is above 1, a worker
  // claims each chunk before it encodes it (ChunkStore::claim()).
  int64_t workers = 1;
  // If given, the worker refuses to encode on a device of another kind.
  std::optional<ChunkOrigin> required_kind = {};
  // True only for `encode preflight`: the worker loads and checks the model of each unit, tries its
  // defences against faults, and encodes no rows. A job without units only opens the device.
  bool check_only = false;
};

// Throws Error kConfig "job.utf8" for a path or an option that is not UTF-8.
std::string to_json(const JobSpec& spec);
// Throws Error kConfig "job.protocol" for a text that to_json() cannot have written.
JobSpec job_spec_from_json(const std::string& json);

}  // namespace encode
