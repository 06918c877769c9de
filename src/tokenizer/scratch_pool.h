// Lends a scratch object to each call, without a lock. A thread usually gets the object that it has
// used before. A lease must end before the pool does.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace encode {

template <typename Scratch>
class ScratchPool {
 public:
  ScratchPool() = default;
  ScratchPool(const ScratchPool&) = delete;
  ScratchPool& operator=(const ScratchPool&) = delete;
  ~ScratchPool() {
    for (auto& slot : slots_) delete slot.load(std::memory_order_acquire);
  }

  class Lease {
   public:
    Lease(ScratchPool& pool, size_t slot, std::unique_ptr<Scratch> scratch)
        : pool_(pool), slot_(slot), scratch_(std::move(scratch)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give_back(slot_, std::move(scratch_)); }
    Scratch& operator*() const { return *scratch_; }
    Scratch* operator->() const { return scratch_.get(); }

   private:
    ScratchPool& pool_;
    size_t slot_;
    std::unique_ptr<Scratch> scratch_;
  };

  // Lends an object until the Lease is destroyed. If none of the slots that this thread tries has
  // an object, calls `make()`, which returns a new object as a std::unique_ptr<Scratch>.
  // Thread-safe.
  template <typename Make>
  Lease borrow(Make&& make) {
    const size_t home = number_of_thread();
    for (size_t i = 0; i < kTries; ++i) {
      const size_t slot = (home + i) % kSlots;
      if (Scratch* scratch = slots_[slot].exchange(nullptr, std::memory_order_acquire);
          scratch != nullptr) {
        return Lease(*this, slot, std::unique_ptr<Scratch>(scratch));
      }
    }
    return Lease(*this, home % kSlots, make());
  }

 private:
  // Two threads of the process have different numbers.
  static size_t number_of_thread() {
    static std::atomic<size_t> threads = 0;
    thread_local const size_t number = threads.fetch_add(1, std::memory_order_relaxed);
    return number;
  }

  static constexpr size_t kSlots = 64;
  static constexpr size_t kTries = 4;

  void give_back(size_t home, std::unique_ptr<Scratch> scratch) {
    for (size_t i = 0; i < kTries && scratch != nullptr; ++i) {
      Scratch* expected = nullptr;
      if (slots_[(home + i) % kSlots].compare_exchange_strong(
              expected, scratch.get(), std::memory_order_release, std::memory_order_relaxed)) {
        static_cast<void>(scratch.release());
      }
    }
  }

  std::array<std::atomic<Scratch*>, kSlots> slots_{};
};

}  // namespace encode
