#include "job/cache_session.h"

#include <exception>
#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <utility>

#include "job/failure.h"

namespace encode {
namespace {

// Rows are written in few large changes, because many small changes take longer. The limit keeps
// the loss small if the worker is killed.
constexpr int64_t kMostUnwrittenBytes = 8 << 20;

ErrorDetail damaged_rows(const std::string& dir, int64_t rows) {
  return {.code = "cache.damaged",
          .what = "records of the embedding cache are damaged; their rows are encoded again",
          .where = dir,
          .expected = "records with the right checksum",
          .found = fmt::format("{} damaged records so far", rows),
          .hint = "look at the whole cache with: encode cache verify --dir " + dir};
}

class CachingSink : public RowSink {
 public:
  CachingSink(std::unique_ptr<RowSink> sink, CacheSession& session)
      : sink_(std::move(sink)), session_(session) {}

  void begin(const ChunkTask& chunk) override { sink_->begin(chunk); }
  void append(const WindowPart& part, std::span<const float> values) override {
    sink_->append(part, values);
    session_.write_if_large();
  }
  void end(const RowStats& stats, const ChunkOrigin& origin) override { sink_->end(stats, origin); }
  std::vector<CommittedFile> commit() override {
    std::vector<CommittedFile> files = sink_->commit();
    session_.write_if_large();
    return files;
  }

 private:
  const std::unique_ptr<RowSink> sink_;
  CacheSession& session_;
};

}  // namespace

CacheSession::CacheSession(const WorkerContext& context) : context_(context) {
  EmbeddingCacheOptions options = context.job.embedding_cache;
  if (options.dir.empty()) return;
  options.memory_bytes /= context.job.workers;
  on_ = true;
  attempt([&] {
    cache_ = std::make_unique<EmbeddingCache>(options,
                                              [this](const Error& error) { end_worker(error); });
    if (context_.guard != nullptr) context_.guard->watch(*cache_, options.memory_bytes);
  });
}

CacheSession::~CacheSession() {
  if (cache_ != nullptr && context_.guard != nullptr) context_.guard->forget(*cache_);
}

// Ends this process, because a thread of it is stuck in the cache. The run goes on with another
// worker.
void CacheSession::end_worker(const Error& error) {
  context_.events.send(CacheProblem{.error = error.detail(), .off = true});
  context_.events.send(WorkerFailed{.error = error.detail()});
  ::_exit(static_cast<int>(error.exit_code()));
}

template <typename Work>
void CacheSession::attempt(const Work& work) {
  if (!on()) return;
  try {
    work();
  } catch (const std::exception&) {
    if (on_.exchange(false))
      context_.events.send(CacheProblem{.error = current_failure().error, .off = true});
  }
}

void CacheSession::find(std::span<CacheRequest> requests) {
  attempt([&] { cache_->find(requests); });
}

void CacheSession::put(const CachedRow& row) {
  attempt([&] { cache_->put(row); });
}

void CacheSession::write() {
  attempt([&] { cache_->write(); });
}

void CacheSession::write_if_large() {
  attempt([&] {
    if (cache_->unwritten_bytes() >= kMostUnwrittenBytes) cache_->write();
  });
}

CacheCounts CacheSession::take_counts() {
  if (cache_ == nullptr) return {};
  const CacheCounts counts = cache_->take_counts();
  if (counts.damaged_rows > 0 && !damage_reported_.exchange(true)) {
    context_.events.send(
        CacheProblem{.error = damaged_rows(context_.job.embedding_cache.dir, counts.damaged_rows),
                     .off = false});
  }
  return counts;
}

std::unique_ptr<RowSink> caching_sink(std::unique_ptr<RowSink> sink, CacheSession& session) {
  return std::make_unique<CachingSink>(std::move(sink), session);
}

}  // namespace encode
