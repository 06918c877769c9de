// The embedding cache of a worker. A failure of the cache never ends a job: the worker goes on
// without the cache.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "encode/cache_counts.h"

#include "cache/embedding_cache.h"
#include "job/commit_thread.h"
#include "job/worker_context.h"

namespace encode {

// If the job has no cache, all functions do nothing. After a failure the session sends CacheProblem
// once, and does nothing from then on. If the cache does not answer, the session ends the worker,
// and the next worker does not use the cache. No function throws an Error of the cache. The
// encoding thread and the commit thread may call the functions at the same time, but only the
// commit thread may call write() and write_if_large().
class CacheSession {
 public:
  // `context` must outlive the session.
  explicit CacheSession(const WorkerContext& context);
  CacheSession(const CacheSession&) = delete;
  CacheSession& operator=(const CacheSession&) = delete;
  ~CacheSession();

  bool on() const { return on_.load(std::memory_order_relaxed); }
  void find(std::span<CacheRequest> requests);
  void put(const CachedRow& row);
  void write();           // writes the waiting rows to disk
  void write_if_large();  // calls write() if the waiting rows take more than a few MiB
  CacheCounts take_counts();

 private:
  [[noreturn]] void end_worker(const Error& error);
  template <typename Work>
  void attempt(const Work& work);

  const WorkerContext& context_;
  std::unique_ptr<EmbeddingCache> cache_;
  std::atomic<bool> on_ = false;
  std::atomic<bool> damage_reported_ = false;
};

// Returns a sink that also writes the waiting rows of the session to disk: after each commit, and
// earlier if write_if_large() does. The session must outlive it.
std::unique_ptr<RowSink> caching_sink(std::unique_ptr<RowSink> sink, CacheSession& session);

}  // namespace encode
