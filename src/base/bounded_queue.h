// A blocking queue between two threads that remembers why its producer ended.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace encode {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Waits for room. False where the consumer is gone: the producer should end.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return items_.size() < capacity_ || abandoned_; });
    if (abandoned_) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }

  // No more items will come; `failure` is thrown by pop() after those that did.
  void finish(std::exception_ptr failure = nullptr) {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    failure_ = std::move(failure);
    changed_.notify_all();
  }

  // Waits for an item; nullopt after the last one.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !items_.empty() || finished_; });
    if (items_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return std::nullopt;
    }
    T item = std::move(items_.front());
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

  // The consumer will not pop again.
  void abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    changed_.notify_all();
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;  // guarded by mutex_, as is all below
  bool finished_ = false;
  bool abandoned_ = false;
  std::exception_ptr failure_;
};

}  // namespace encode
