// A fixed set of threads that share the iterations of a loop.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace encode {

// run() is for one thread at a time; that thread takes part in the work.
class ThreadPool {
 public:
  // `start` runs first on each of the threads - 1 new threads and on the calling one.
  ThreadPool(int64_t threads, const std::function<void()>& start);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  // Calls body(0), ..., body(count - 1), each once, in no order, and returns when all have
  // returned. The first exception stops the handing out of further iterations and is thrown again
  // here.
  void run(int64_t count, const std::function<void(int64_t)>& body);

  int64_t threads() const { return static_cast<int64_t>(workers_.size()) + 1; }

 private:
  void work();   // takes iterations until there are none left
  void serve();  // a new thread's life

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  const std::function<void(int64_t)>* body_ = nullptr;  // guarded by mutex_, as is all below
  int64_t next_ = 0;
  int64_t count_ = 0;
  int64_t busy_ = 0;
  uint64_t round_ = 0;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> workers_;
};

}  // namespace encode
