#include "base/thread_pool.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "encode/error.h"

namespace encode {

ThreadPool::ThreadPool(int64_t threads, const std::function<void()>& start) {
  start();
  try {
    for (int64_t i = 1; i < threads; ++i) {
      workers_.emplace_back([this, start] {
        start();
        serve();
      });
    }
  } catch (const std::system_error& refused) {
    join();
    throw thread_error(refused);
  }
}

ThreadPool::~ThreadPool() { join(); }

void ThreadPool::join() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(int64_t count, const std::function<void(int64_t)>& body) {
  std::unique_lock lock(mutex_);
  body_ = &body;
  next_ = 0;
  count_ = count;
  ++round_;
  wake_.notify_all();
  lock.unlock();
  work();
  lock.lock();
  idle_.wait(lock, [this] { return busy_ == 0; });
  body_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  ++busy_;
  while (next_ < count_) {
    const int64_t i = next_++;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*body_)(i);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      next_ = count_;
      if (!failure_) failure_ = failure;
    }
  }
  if (--busy_ == 0) idle_.notify_all();
}

void ThreadPool::serve() {
  uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
    }
    work();
  }
}

void share_calls(int64_t count, int64_t threads, const std::function<void(int64_t)>& body) {
  threads = std::clamp<int64_t>(count, 1, threads);
  std::optional<ThreadPool> pool;
  while (!pool) {
    try {
      pool.emplace(threads, [] {});
    } catch (const Error&) {  // one thread is the caller's own, which the system cannot refuse
      threads /= 2;
    }
  }
  pool->run(count, body);
}

}  // namespace encode
