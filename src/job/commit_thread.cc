#include "job/commit_thread.h"

#include <fmt/format.h>
#include <utility>

#include "encode/error.h"
#include "encode/text.h"

#include "base/host.h"
#include "base/stopwatch.h"

namespace encode {
namespace {

void append_to(MatrixWriter& writer, const WindowPart& part, std::span<const float> values) {
  writer.append(values);
  writer.append_truncated(part.truncated);
  if (!part.row_vectors.empty()) writer.append_lengths(part.row_vectors);
  if (part.passages) writer.append_passages(*part.passages);
}

// Returns the weight of a part. The time of a window is divided among its parts by weight.
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
  void end(const RowStats& stats, const ChunkOrigin& origin) override {
    ended_.push_back({.writer = std::move(writer_), .stats = stats, .origin = origin});
  }
  std::vector<CommittedFile> commit() override {
    const std::vector<WrittenChunk> chunks = std::exchange(ended_, {});
    std::vector<CommittedFile> files;
    for (const ChunkRecord& record : store_.commit(chunks))
      files.push_back({.path = store_.chunk_path(record.index), .bytes = record.file_bytes});
    return files;
  }

 private:
  ChunkStore& store_;
  std::unique_ptr<ChunkWriter> writer_;
  std::vector<WrittenChunk> ended_;
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
  void end(const RowStats& stats, const ChunkOrigin& origin) override {
    stats_ = stats;
    origin_ = origin;
  }
  // In standard mode the whole matrix is one chunk.
  std::vector<CommittedFile> commit() override {
    const std::unique_ptr<FinalWriter> writer = std::move(writer_);
    require_unchanged(unit_.scan);
    writer->publish(stats_, origin_);
    return {{.path = unit_.final_path}};
  }

 private:
  // In standard mode a bad row ends the run, because without chunk files nothing keeps the vectors
  // of the other rows.
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
  RowStats stats_;
  ChunkOrigin origin_;
};

class LockedSink : public RowSink {
 public:
  LockedSink(std::unique_ptr<RowSink> sink, const JobSpec& job)
      : sink_(std::move(sink)), job_(job) {}

  void begin(const ChunkTask& chunk) override { sink_->begin(chunk); }
  void append(const WindowPart& part, std::span<const float> values) override {
    sink_->append(part, values);
  }
  void end(const RowStats& stats, const ChunkOrigin& origin) override { sink_->end(stats, origin); }
  std::vector<CommittedFile> commit() override {
    require_lock(job_.lock_dir.empty() ? job_.cache_dir : job_.lock_dir, job_.lock_token);
    return sink_->commit();
  }

 private:
  const std::unique_ptr<RowSink> sink_;
  const JobSpec& job_;
};

}  // namespace

std::unique_ptr<RowSink> chunk_sink(ChunkStore& store) {
  return std::make_unique<ChunkSink>(store);
}
std::unique_ptr<RowSink> final_sink(const JobUnit& unit) {
  return std::make_unique<FinalSink>(unit);
}
std::unique_ptr<RowSink> locked_sink(std::unique_ptr<RowSink> sink, const JobSpec& job) {
  return std::make_unique<LockedSink>(std::move(sink), job);
}

CommitThread::CommitThread(RowSink& sink, EventPipe& events, int64_t unit, ChunkOrigin origin)
    : sink_(sink), events_(events), unit_(unit), origin_(std::move(origin)), thread_([this] {
        run();
      }) {}

CommitThread::~CommitThread() {
  queue_.finish();
  if (thread_.joinable()) thread_.join();
}

std::vector<float> CommitThread::push(EncodedWindow window) {
  if (!queue_.push(std::move(window))) rethrow_failure();
  const std::lock_guard lock(spare_mutex_);
  return std::exchange(spare_, {});
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
    // The window stays in the queue until it is on disk, so that push() waits for it.
    while (EncodedWindow* window = queue_.front()) {
      Stopwatch watch;
      write(*window);
      seconds_ += watch.lap();
      {
        const std::lock_guard lock(spare_mutex_);
        spare_ = std::move(window->values);
      }
      queue_.pop();
    }
  } catch (...) {
    failure_ = std::current_exception();
    commit_rest();
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
    if (part.closes_chunk()) end(part, window);
    if (std::ssize(ended_) == kChunksTogether) commit();
  }
  commit();
}

void CommitThread::end(const WindowPart& last, const EncodedWindow& window) {
  ChunkOrigin origin = origin_;
  origin.batch_tokens = window.batch_tokens;
  sink_.end(chunk_stats_, origin);
  ChunkDone done;
  done.unit = unit_;
  done.chunk = last.chunk.index;
  done.rows = last.chunk.rows;
  done.seconds = chunk_seconds_;
  done.stats = chunk_stats_;
  done.memory = window.memory;
  ended_.push_back(std::move(done));
}

void CommitThread::commit() {
  std::vector<ChunkDone> ended = std::exchange(ended_, {});
  if (ended.empty()) return;
  const std::vector<CommittedFile> files = sink_.commit();
  const int64_t resident = resident_bytes();
  for (size_t i = 0; i < ended.size(); ++i) {
    ended[i].path = files[i].path;
    ended[i].file_bytes = files[i].bytes;
    ended[i].host_rss_bytes = resident;
    events_.send(ended[i]);
  }
}

// After a failure: commits the chunks that have ended before it.
void CommitThread::commit_rest() noexcept {
  try {
    commit();
  } catch (...) {
    return;  // the first failure is the one to report
  }
}

}  // namespace encode
