// Writes and syncs the rows of one unit while the device goes on with the next ones.
#pragma once

#include <memory>
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

// Encoded rows on their way to the disk.
struct EncodedWindow {
  std::vector<WindowPart> parts;
  std::vector<float> values;  // [vectors of all parts, dim]
  int64_t dim = 0;
  double seconds = 0;   // it took to encode
  DeviceMemory memory;  // after the allocator's cache was released
};

// Where a unit's rows go: chunk files, or straight into the final in standard mode.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void begin(const ChunkTask& chunk) = 0;
  virtual void append(const WindowPart& part, std::span<const float> values) = 0;
  // Durable on return. Fills `path` and `file_bytes` of the event.
  virtual ChunkDone commit(const RowStats& stats, const ChunkOrigin& origin) = 0;
};

std::unique_ptr<RowSink> chunk_sink(ChunkStore& store);
std::unique_ptr<RowSink> final_sink(const JobUnit& unit);

// push() and finish() are for one thread. At most two windows are ever on their way: push() waits
// until at most one earlier window is not written yet.
class CommitThread {
 public:
  CommitThread(RowSink& sink, EventPipe& events, int64_t unit, ChunkOrigin origin);
  CommitThread(const CommitThread&) = delete;
  CommitThread& operator=(const CommitThread&) = delete;
  ~CommitThread();  // without finish(): what is not committed is dropped

  void push(EncodedWindow window);             // throws what writing threw
  void finish();                               // returns when all is durable; throws likewise
  double seconds() const { return seconds_; }  // spent on writing; after finish()

 private:
  void run();
  void write(const EncodedWindow& window);
  void commit(const WindowPart& last, const DeviceMemory& memory);
  void rethrow_failure();

  RowSink& sink_;
  EventPipe& events_;
  int64_t unit_;
  ChunkOrigin origin_;
  RowStats chunk_stats_;      // commit thread only
  double chunk_seconds_ = 0;  // commit thread only; its share of its windows' time
  double seconds_ = 0;        // commit thread only, until it has been joined
  std::exception_ptr
      failure_;  // written before the queue is abandoned, read after push() failed or the join
  BoundedQueue<EncodedWindow> queue_{1};
  std::thread thread_;
};

}  // namespace encode
