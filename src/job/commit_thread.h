// Writes and syncs the vectors of one unit on a thread while the device encodes the next rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "encode/encoder.h"
#include "encode/job.h"
#include "encode/store.h"

#include "base/bounded_queue.h"
#include "job/event_pipe.h"
#include "job/window_producer.h"

namespace encode {

// The vectors of one window, which the encoding thread hands to the CommitThread.
struct EncodedWindow {
  std::vector<WindowPart> parts;
  std::vector<float> values;  // [vectors of all parts, dim]
  int64_t dim = 0;
  double seconds = 0;        // the time to encode the window
  int64_t batch_tokens = 0;  // see ChunkOrigin
  DeviceMemory memory;       // set if the last part closes its chunk; see ChunkDone::memory
};

// The file of a chunk that a sink has committed.
struct CommittedFile {
  std::string path;
  int64_t bytes = 0;  // the size of a chunk file; 0 if the file is the final matrix
};

// The most chunks that are committed together. Each of them has up to four open files.
constexpr int64_t kChunksTogether = 16;

// Writes the rows of a unit to chunk files, or to the final matrix in standard mode. The calls for
// a chunk are begin(), append() for each of its parts in row order, and end(). All functions throw
// the errors of MatrixWriter. Not thread-safe.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void begin(const ChunkTask& chunk) = 0;
  // `values` is [part.vectors(), dim].
  virtual void append(const WindowPart& part, std::span<const float> values) = 0;
  virtual void end(const RowStats& stats, const ChunkOrigin& origin) = 0;
  // Commits the chunks that have ended since the last call, and returns their files in the order in
  // which they ended. When commit() returns, they are durable. If it throws, they are dropped.
  virtual std::vector<CommittedFile> commit() = 0;
};

// Returns a sink that writes chunk files. The store must outlive it.
std::unique_ptr<RowSink> chunk_sink(ChunkStore& store);
// Returns a sink that writes the final matrix. The unit must outlive it.
std::unique_ptr<RowSink> final_sink(const JobUnit& unit);
// Returns a sink that calls require_lock() before each commit of `sink`. The job must outlive it.
std::unique_ptr<RowSink> locked_sink(std::unique_ptr<RowSink> sink, const JobSpec& job);

// Commits the chunks that end in a window together, kChunksTogether at a time, and sends ChunkDone
// for each. push() and finish() must be called on one thread. Holds one window, which is being
// written, so a kill loses at most this window and the window that is being encoded. After an
// error, the chunks that ended before it are still committed, if that is possible.
class CommitThread {
 public:
  // `sink` and `events` must outlive the CommitThread.
  CommitThread(RowSink& sink, EventPipe& events, int64_t unit, ChunkOrigin origin);
  CommitThread(const CommitThread&) = delete;
  CommitThread& operator=(const CommitThread&) = delete;
  // Writes the windows that were pushed. Drops a chunk that is not complete after them.
  ~CommitThread();

  // Hands a window to the thread that writes, after it has waited until the previous window is
  // durable. Returns the values of a durable window for reuse as the memory of a new one; they may
  // be empty. Throws what writing an earlier window threw.
  std::vector<float> push(EncodedWindow window);
  // Returns when all windows are durable. Throws what writing a window threw.
  void finish();
  // Returns the seconds that the thread has spent so far on the windows that it has written.
  double seconds() const { return seconds_.load(std::memory_order_relaxed); }

 private:
  void run();
  void write(const EncodedWindow& window);
  void end(const WindowPart& last, const EncodedWindow& window);
  void commit();
  void commit_rest() noexcept;
  void rethrow_failure();

  RowSink& sink_;
  EventPipe& events_;
  int64_t unit_;
  ChunkOrigin origin_;
  // Only the thread uses these three members.
  RowStats chunk_stats_;
  double chunk_seconds_ = 0;      // see ChunkDone::seconds
  std::vector<ChunkDone> ended_;  // chunks that are not committed, without their files
  std::atomic<double> seconds_ = 0;
  std::mutex spare_mutex_;
  std::vector<float> spare_;  // the values of the last window that is durable
  // The thread sets this before it abandons the queue. Other threads may read it only after push()
  // has failed, or after the join.
  std::exception_ptr failure_;
  BoundedQueue<EncodedWindow> queue_{1};
  std::thread thread_;
};

}  // namespace encode
