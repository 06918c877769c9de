// Decides at which of three levels a run resumes (a valid final, committed chunks, or from the
// start), and makes the final from the chunks.
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

// How far a stream is, according to the files on disk.
struct StreamState {
  bool finished = false;   // the final is published
  int64_t rows_done = 0;   // rows of committed chunks
  int64_t chunk_rows = 0;  // rows of a whole chunk
  int64_t chunks = 0;
};

// Requires the CacheLock. finish() may run on another thread while a worker writes other streams.
// The arguments of the constructor must outlive the finisher.
class StreamFinisher {
 public:
  StreamFinisher(const StoreOptions& options, RunLog& log, const StopSignal& stop)
      : options_(options), log_(log), stop_(stop) {}

  // False in standard mode, which writes the final in one pass.
  bool chunk_files() const { return options_.use_chunked_encoding && options_.save_chunks; }

  // The path to which a worker writes its float32 rows in standard mode. It is the path of the
  // final if the final is float32. Otherwise it is a file beside the final, which finish()
  // converts.
  std::string standard_path(const StreamPlan& stream) const;

  // Whether the final of this stream exists in the format of StoreOptions::final_format. Checks the
  // size of the file, not its hash.
  bool has_final(const StreamPlan& stream) const;

  // Must be called at the start of a run. Takes the first step that applies:
  //   - with StoreOptions::fresh: deletes the old final and chunks
  //   - keeps a valid final, or converts it if it is float32 and another format is wanted
  //   - keeps the committed chunks, and assembles the final if no chunk is missing
  //   - lets the stream start from the first row
  // Throws Error kConfig if the final or the chunks belong to another run, naming the fields that
  // differ.
  StreamState resume(const StreamPlan& stream) const;

  // Must be called after a worker has ended or finished the stream. Assembles the final if every
  // chunk is committed. Throws Stopped after a chunk if a signal came, and the errors of
  // ChunkStore.
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
