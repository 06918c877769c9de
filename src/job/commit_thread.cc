#include "job/commit_thread.h"

#include <utility>

#include "base/host.h"
#include "job/stage_seconds.h"

namespace encode {
namespace {

void append_to(MatrixWriter& writer, const EncodedWindow& window) {
  writer.append(window.values);
  writer.append_truncated(window.truncated);
  if (!window.row_tokens.empty()) writer.append_lengths(window.row_tokens);
}

class ChunkSink : public RowSink {
 public:
  explicit ChunkSink(ChunkStore& store) : store_(store) {}

  void begin(const ChunkTask& chunk) override { writer_ = store_.begin(chunk.index); }
  void append(const EncodedWindow& window) override { append_to(*writer_, window); }
  WorkerEvent commit(const RowStats& stats, const std::string& device) override {
    const ChunkRecord record = writer_->commit(stats, device);
    writer_.reset();
    WorkerEvent event;
    event.path = store_.chunk_path(record.index);
    event.file_bytes = record.file_bytes;
    return event;
  }

 private:
  ChunkStore& store_;
  std::unique_ptr<ChunkWriter> writer_;
};

class FinalSink : public RowSink {
 public:
  explicit FinalSink(const JobUnit& unit) : unit_(unit) {}

  void begin(const ChunkTask& /*chunk*/) override {
    writer_ = begin_final(unit_.final_path, unit_.identity);
  }
  void append(const EncodedWindow& window) override { append_to(*writer_, window); }
  WorkerEvent commit(const RowStats& stats, const std::string& device) override {
    writer_->publish(stats, device);
    writer_.reset();
    WorkerEvent event;
    event.path = unit_.final_path;
    return event;
  }

 private:
  const JobUnit& unit_;
  std::unique_ptr<FinalWriter> writer_;
};

}  // namespace

std::unique_ptr<RowSink> chunk_sink(ChunkStore& store) {
  return std::make_unique<ChunkSink>(store);
}
std::unique_ptr<RowSink> final_sink(const JobUnit& unit) {
  return std::make_unique<FinalSink>(unit);
}

CommitThread::CommitThread(RowSink& sink, EventPipe& events, int64_t unit, std::string device)
    : sink_(sink), events_(events), unit_(unit), device_(std::move(device)), thread_([this] {
        run();
      }) {}

CommitThread::~CommitThread() {
  queue_.finish();
  if (thread_.joinable()) thread_.join();
}

void CommitThread::push(EncodedWindow window) {
  if (!queue_.push(std::move(window))) rethrow_failure();
}

void CommitThread::finish() {
  queue_.finish();
  thread_.join();
  rethrow_failure();
}

void CommitThread::rethrow_failure() {
  if (failure_) std::rethrow_exception(failure_);
}

void CommitThread::run() {
  try {
    while (const auto window = queue_.pop()) {
      Stopwatch watch;
      write(*window);
      seconds_ += watch.lap();
    }
  } catch (...) {
    failure_ = std::current_exception();
    queue_.abandon();
  }
}

void CommitThread::write(const EncodedWindow& window) {
  if (window.opens_chunk) {
    chunk_stats_ = {};
    sink_.begin(window.chunk);
  }
  sink_.append(window);
  chunk_stats_.add(window.stats);
  if (!window.closes_chunk) return;
  WorkerEvent event = sink_.commit(chunk_stats_, device_);
  event.kind = WorkerEvent::Kind::kChunkDone;
  event.unit = unit_;
  event.chunk = window.chunk.index;
  event.rows = window.chunk.rows;
  event.seconds = window.seconds;
  event.stats = chunk_stats_;
  event.device_allocated_bytes = window.memory.allocated_bytes;
  event.device_reserved_bytes = window.memory.reserved_bytes;
  event.host_rss_bytes = resident_bytes();
  events_.send(event);
}

}  // namespace encode
