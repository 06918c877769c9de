// Finds out what a stream can resume from: a valid final matrix (called "final" here), committed
// chunks or nothing. Makes the final from the chunks.
#pragma once

#include <cstdint>
#include <string>

#include "encode/config.h"
#include "encode/store.h"

#include "supervisor/plan/plan.h"
#include "supervisor/report/run_log.h"
#include "supervisor/stop_signal.h"

namespace encode {

// Is thrown when a signal asks the run to stop. All committed chunks are kept.
struct Stopped {};

// The progress of a stream, according to the files on disk.
struct StreamState {
  bool finished = false;   // the final is published
  int64_t rows_done = 0;   // committed rows
  int64_t chunk_rows = 0;  // rows of a whole chunk
  int64_t chunks = 0;
};

// Requires the CacheLock. finish() may run on another thread while a worker writes other streams.
// The arguments of the constructor must outlive the finisher.
class StreamFinisher {
 public:
  StreamFinisher(const StoreOptions& options, RunLog& log, const StopSignal& stop)
      : options_(options), log_(log), stop_(stop) {}

  // Returns false in standard mode, which writes the final in one pass.
  bool chunk_files() const { return options_.use_chunked_encoding && options_.save_chunks; }

  // Returns the path to which a worker writes its float32 rows in standard mode. This is the path
  // of the final if the final is float32. Otherwise it is a file beside the final, which finish()
  // converts.
  std::string standard_path(const StreamPlan& stream) const;

  // Whether the final of this stream exists in the format of StoreOptions::final_format. Checks the
  // size of the file, not its hash. Throws what final_state() and has_format() throw.
  bool has_final(const StreamPlan& stream) const;

  // Must be called at the start of a run. With StoreOptions::fresh it deletes the old final and
  // chunks. Otherwise it
  //   - keeps a valid final,
  //   - converts a valid float32 final if another format is wanted,
  //   - keeps the committed chunks, and assembles the final if no chunk is missing.
  // Throws Error kConfig that names the differing fields if the final or the chunks belong to
  // another run. Also throws what ChunkStore::open() throws, and Error "run.fresh" if an old file
  // cannot be deleted.
  StreamState resume(const StreamPlan& stream) const;

  // Must be called when a worker has finished the stream or has ended. Assembles the final if every
  // chunk is committed. Throws the errors of ChunkStore, and Stopped if a signal comes while it
  // assembles.
  StreamState finish(const StreamPlan& stream) const;

 private:
  bool keep_final(const StreamPlan& stream) const;
  bool reformat(const StreamPlan& stream) const;
  bool is_float32() const { return options_.final_format.type == OutputType::kFloat32; }
  StreamState finish_standard(const StreamPlan& stream) const;
  StreamState from_chunks(const StreamPlan& stream, ChunkStore& store) const;
  int64_t chunk_rows() const;

  const StoreOptions& options_;
  RunLog& log_;
  const StopSignal& stop_;
};

}  // namespace encode
