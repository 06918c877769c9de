// Finds out what a stream can resume from: a valid final matrix, committed chunks or nothing. Makes
// the final matrix from the chunks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "encode/config.h"
#include "encode/error.h"
#include "encode/store.h"

#include "base/stop_signal.h"
#include "run_plan/attempt_finals.h"
#include "run_plan/final_outlook.h"
#include "run_plan/lock_of_run.h"
#include "run_plan/plan.h"
#include "run_record/run_log.h"

namespace encode {

// Thrown when a signal asks the run to stop. All committed chunks are kept.
struct Stopped {};

// The progress of a stream, according to the files on disk.
struct StreamState {
  bool finished = false;   // the final matrix is published
  bool unchanged = false;  // it was complete, in the wanted format, before this run began
  bool encoded = false;    // no row is left to encode
  int64_t rows_done = 0;   // committed rows
  int64_t chunk_rows = 0;  // rows of a whole chunk
  int64_t chunks = 0;
  std::vector<SetAsideRow> set_aside = {};  // of the committed chunks; empty if `finished`
};

// finish() may run on another thread while a worker writes other streams.
// The arguments of the constructor must outlive the finisher.
class StreamFinisher {
 public:
  StreamFinisher(const StoreOptions& options, LockOfRun lock, RunLog& log, const StopSignal& stop)
      : options_(options), lock_(std::move(lock)), log_(log), stop_(stop), finals_(options, log) {}

  // Remembers the final matrices that are there. Must be called before take_back() and resume().
  // Throws what AttemptFinals::look_at() throws.
  void look_at_finals(const RunPlan& plan);

  // Returns false in standard mode, which writes the final matrix in one pass.
  bool chunk_files() const { return options_.chunked(); }

  // Returns standard_path_of() work_path_of() the final matrix. finish() converts this file.
  std::string standard_path(const StreamPlan& stream) const;

  // Returns true if the final matrix of this stream exists in the format of
  // StoreOptions::final_format. Checks the size of the file, not its hash. Throws what
  // final_state() and has_format() throw.
  bool has_final(const StreamPlan& stream) const;
  // Returns a sentence for people: what a run that stops now leaves for the next one. `given_up` is
  // the number of rows that the workers have computed and not saved.
  std::string what_is_kept(const std::vector<StreamPlan>& streams, int64_t given_up) const;

  // Must be called at the start of a run. With StoreOptions::fresh it deletes the old final matrix
  // and chunks. Otherwise it
  //   - keeps a valid final matrix,
  //   - converts a valid float32 final matrix if another format is wanted, even if an earlier run
  //     has left the matrix in the cache directory in another file format,
  //   - keeps the committed chunks, and assembles the final matrix if no chunk is missing.
  // Throws Error kConfig that names the differing fields if the final matrix or the chunks belong
  // to another run. Also throws what ChunkStore::open() throws, and Error "run.fresh" if an old
  // file cannot be deleted.
  StreamState resume(const StreamPlan& stream) const;

  // Makes rows that earlier runs have set aside pending again: deletes the chunks that lack
  // them, and a final matrix that lacks rows. Must be called before resume(). Returns the number of
  // rows that were set aside in the deleted chunks. Throws the errors of ChunkStore.
  int64_t take_back(const StreamPlan& stream);

  // Must be called when a worker has finished the stream or has ended. Assembles the final matrix
  // if every chunk is committed, except in two cases: rows are set aside and
  // StoreOptions::quarantine is kError, or it is kDrop and publish_split() assembles. `alone` says
  // that no worker writes to the stream's folder. A damaged or missing chunk is then dropped, and
  // the state says that rows are missing. If workers still write, the state is empty instead, and
  // finish() must be called again when they have ended. Throws the errors of ChunkStore and
  // require_unchanged() and require_lock(), and Stopped if a signal comes while it assembles.
  StreamState finish(const StreamPlan& stream, bool alone) const;

  // With QuarantinePolicy::kDrop: publishes the final matrices of the streams of a split, which
  // must all be encoded, without the rows that are set aside in any of them. Sets their states,
  // `states`, to finished. Also throws Error kConfig "run.dropped_rows" if an earlier final matrix
  // of the split lacks other rows and has no chunks any more.
  void publish_split(const std::vector<const StreamPlan*>& streams,
                     const std::vector<StreamState*>& states) const;

  // Makes a combined matrix of the final matrices `parts`, unless it is there. Returns true if it
  // has made it. Throws what combine_finals() and AttemptFinals::publish() throw.
  bool combine(const CombinePlan& plan, const std::vector<std::string>& parts,
               const StreamIdentity& identity) const;

 private:
  enum class Kept { kNot, kConverted, kUnchanged };

  Kept keep_final(const StreamPlan& stream) const;
  void explain_outlook(const FinalOutlook& outlook, const StreamPlan& stream) const;
  void convert(const std::string& float32_path, const StreamPlan& stream) const;
  StreamState finish_standard(const StreamPlan& stream) const;
  StreamState from_chunks(const StreamPlan& stream, ChunkStore& store) const;
  void publish_from_attempt(const StreamPlan& stream) const;
  void publish(const StreamPlan& stream, ChunkStore& store,
               const std::vector<SetAsideRow>& rows) const;

  const StoreOptions& options_;
  const LockOfRun lock_;
  RunLog& log_;
  const StopSignal& stop_;
  mutable AttemptFinals finals_;
};

}  // namespace encode
