#include "job/commit_thread.h"

#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/host.h"
#include "base/stopwatch.h"

namespace encode {
namespace {

void append_to(MatrixWriter& writer, const WindowPart& part, std::span<const float> values) {
  writer.append(values);
  writer.append_truncated(part.truncated);
  if (!part.row_tokens.empty()) writer.append_lengths(part.row_tokens);
}

// Returns the weight of a part when the time of a window is divided among its parts.
double work(const WindowPart& part) {
  return static_cast<double>(part.stats.tokens + part.rows.size());
}

class ChunkSink : public RowSink {
 public:
  explicit ChunkSink(ChunkStore& store) : store_(store) {}

  void begin(const ChunkTask& chunk) override { writer_ = store_.begin(chunk.index); }
  void append(const WindowPart& part, std::span<const float> values) override {
    append_to(*writer_, part, values);
    writer_->append_set_aside(part.set_aside);
  }
  ChunkDone commit(const RowStats& stats, const ChunkOrigin& origin) override {
    const ChunkRecord record = writer_->commit(stats, origin);
    writer_.reset();
    ChunkDone done;
    done.path = store_.chunk_path(record.index);
    done.file_bytes = record.file_bytes;
    return done;
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
  void append(const WindowPart& part, std::span<const float> values) override {
    if (!part.set_aside.empty()) throw refusal(part.set_aside.front());
    append_to(*writer_, part, values);
  }
  ChunkDone commit(const RowStats& stats, const ChunkOrigin& origin) override {
    writer_->publish(stats, origin);
    writer_.reset();
    ChunkDone done;
    done.path = unit_.final_path;
    return done;
  }

 private:
  // Without chunk files there is no place for the vectors of the other rows.
  Error refusal(const SetAsideRow& row) const {
    return Error(
        {.code = "run.row_failed",
         .what = fmt::format("row {} of {} cannot be encoded", row.row, unit_.identity.name),
         .where = unit_.input.path,
         .expected = "a row that can be encoded",
         .found = fmt::format("{}: {}", row.code, row.message),
         .hint = "encode in chunks, without --standard (use_chunked_encoding: true in a config): "
                 "then all other rows are encoded, and --quarantine (semantic.quarantine) says "
                 "what becomes of this row"});
  }

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

CommitThread::CommitThread(RowSink& sink, EventPipe& events, int64_t unit, ChunkOrigin origin)
    : sink_(sink), events_(events), unit_(unit), origin_(std::move(origin)), thread_([this] {
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
    // The window stays in the queue until it is durable, so that push() waits for it.
    while (const EncodedWindow* window = queue_.front()) {
      Stopwatch watch;
      write(*window);
      seconds_ += watch.lap();
      queue_.pop();
    }
  } catch (...) {
    failure_ = std::current_exception();
    queue_.abandon();
  }
}

void CommitThread::write(const EncodedWindow& window) {
  double all_work = 0;
  for (const WindowPart& part : window.parts) all_work += work(part);
  std::span<const float> values = window.values;
  for (const WindowPart& part : window.parts) {
    if (part.opens_chunk()) {
      chunk_stats_ = {};
      chunk_seconds_ = 0;
      sink_.begin(part.chunk);
    }
    const auto size = static_cast<size_t>(part.vectors() * window.dim);
    sink_.append(part, values.first(size));
    values = values.subspan(size);
    chunk_stats_.add(part.stats);
    chunk_seconds_ += window.seconds * work(part) / all_work;
    if (part.closes_chunk()) commit(part, window);
  }
}

void CommitThread::commit(const WindowPart& last, const EncodedWindow& window) {
  ChunkOrigin origin = origin_;
  origin.batch_tokens = window.batch_tokens;
  ChunkDone done = sink_.commit(chunk_stats_, origin);
  done.unit = unit_;
  done.chunk = last.chunk.index;
  done.rows = last.chunk.rows;
  done.seconds = chunk_seconds_;
  done.stats = chunk_stats_;
  done.memory = window.memory;
  done.host_rss_bytes = resident_bytes();
  events_.send(done);
}

}  // namespace encode
