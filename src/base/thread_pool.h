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

// Only one thread at a time may call run(). This thread takes part in the work.
class ThreadPool {
 public:
  // Makes threads - 1 new threads. Calls `start` once on each of them and on the calling thread.
  // `threads` is at least 1. Throws Error kOsError "os.thread" if the system refuses a thread.
  ThreadPool(int64_t threads, const std::function<void()>& start);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  // Calls body(0), ..., body(count - 1), each once and in any order, and returns when all calls
  // have returned. After the first exception no further calls begin. run() waits for the running
  // calls and throws this exception.
  void run(int64_t count, const std::function<void(int64_t)>& body);

  int64_t threads() const { return static_cast<int64_t>(workers_.size()) + 1; }

 private:
  void work();   // calls `body` until no calls are left
  void serve();  // the main function of a new thread
  void join();   // ends the threads

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  // mutex_ guards all members from here to failure_.
  const std::function<void(int64_t)>* body_ = nullptr;
  int64_t next_ = 0;
  int64_t count_ = 0;
  int64_t busy_ = 0;
  uint64_t round_ = 0;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> workers_;
};

// Calls body(0), ..., body(count - 1) as ThreadPool::run() does, on at most `threads` threads, and
// on fewer if the system refuses some. `threads` is at least 1.
void share_calls(int64_t count, int64_t threads, const std::function<void(int64_t)>& body);

}  // namespace encode
