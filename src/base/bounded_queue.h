// A blocking queue from a producer thread to a consumer thread. If the producer fails, the consumer
// receives its exception.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

namespace encode {

// The producer calls push(), await_empty() and finish(). The consumer calls front(), peek(), pop()
// and abandon(). One producer thread and one consumer thread may use it at the same time.
template <typename T>
class BoundedQueue {
 public:
  // `capacity` is the largest number of waiting items, at least 1.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Waits for room, then appends the item and returns true. Returns false if the consumer has
  // called abandon(); the producer should then end.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return items_.size() < capacity_ || abandoned_; });
    if (abandoned_) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }

  // Waits until the queue is empty, or until the time is over. Returns false only if the time is
  // over; after abandon() it returns true at once.
  bool await_empty(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return items_.empty() || abandoned_; });
  }

  // Says that no more items will come. After the last item, pop() throws `failure`, or returns
  // nullopt if `failure` is null.
  void finish(std::exception_ptr failure = nullptr) {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    failure_ = std::move(failure);
    changed_.notify_all();
  }

  // Waits for an item and removes it. After the last item, returns nullopt, or throws the failure
  // that was passed to finish().
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    wait_for_item(lock);
    if (items_.empty()) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

  // Waits for an item and returns it. The item stays in the queue, and keeps its room, until the
  // next pop(). After the last item, returns null or throws as pop() does.
  T* front() {
    std::unique_lock lock(mutex_);
    wait_for_item(lock);
    return items_.empty() ? nullptr : &items_.front();
  }

  // Returns what pop() would return now, or null if no item waits. Never throws the failure. The
  // item stays in the queue until the next pop().
  const T* peek() {
    const std::lock_guard lock(mutex_);
    return items_.empty() ? nullptr : &items_.front();
  }

  // Says that the consumer will not call pop() again. A waiting push() and all later calls of
  // push() return false.
  void abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    changed_.notify_all();
  }

 private:
  void wait_for_item(std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [this] { return !items_.empty() || finished_; });
    if (items_.empty() && failure_) std::rethrow_exception(failure_);
  }

  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;  // mutex_ guards items_ and all members below
  bool finished_ = false;
  bool abandoned_ = false;
  std::exception_ptr failure_;
};

}  // namespace encode
