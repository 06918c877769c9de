// The three levels of the resume, and the step from committed chunks to a published final.
#pragma once

#include <cstdint>
#include <string>

#include "encode/config.h"
#include "encode/store.h"

#include "supervisor/plan/plan.h"
#include "supervisor/report/run_log.h"
#include "supervisor/stop_signal.h"

namespace encode {

// The run was asked to stop. Not an error: committed work is safe.
struct Stopped {};

// How far a stream is, as the disk says.
struct StreamState {
  bool finished = false;  // the final is published
  int64_t rows_done = 0;  // committed
  int64_t chunk_rows = 0;
  int64_t chunks = 0;
};

// Requires the CacheLock. finish() may run on another thread while a worker writes other streams.
class StreamFinisher {
 public:
  StreamFinisher(const StoreOptions& options, RunLog& log, const StopSignal& stop)
      : options_(options), log_(log), stop_(stop) {}

  bool chunk_files() const { return options_.use_chunked_encoding && options_.save_chunks; }

  // Where a worker without chunk files puts its float32 rows: the final itself, or a matrix beside
  // it that a final of another type is then made of.
  std::string standard_path(const StreamPlan& stream) const;

  // Is the final there, of this stream and in the type that is asked for? Its hash is not checked.
  bool has_final(const StreamPlan& stream) const;

  // At the start: a valid final is kept, or turned into the type that is asked for, chunks are gone
  // on with, or the stream starts from scratch (as it always does with StoreOptions::fresh). Throws
  // Error kConfig where what is there belongs to another run, naming what differs.
  StreamState resume(const StreamPlan& stream) const;

  // After a worker: assembles the final where every chunk is there. Throws Stopped between two
  // chunks, and Error.
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
