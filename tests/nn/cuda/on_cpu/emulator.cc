#include "emulator.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fiber.h"
#include "launch.cuh"
#include "shared_memory.h"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace encode::emulator {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kMostThreads = 1024;        // limit for the threads of a block, on every GPU
constexpr unsigned kMostRowsOfBlocks = 65535;  // limit for grid.y and grid.z, on every GPU
constexpr unsigned kMostBlocks = 1U << 24U;    // limit for the blocks of a grid in the emulator
const char kDynamic = 0;                       // its address is the key of dynamic_shared()

enum class State {
  kReady,
  kAtBlock,  // waits in wait_for_block()
  kAtLanes,  // waits in wait_for_lanes() or shuffle()
  kDone
};

// The arguments and the result of shuffle() for one thread.
struct Exchange {
  uint32_t mask = 0;
  uint64_t value = 0;
  int source_lane = 0;
  uint64_t result = 0;
};

void run_current();  // the body of every fiber

struct Thread {
  Fiber fiber{run_current};
  uint3 index = {};
  State state = State::kReady;
  std::source_location where = {};  // the call at which it waits
  Exchange exchange = {};
};

bool same_place(const std::source_location& a, const std::source_location& b) {
  if (a.line() != b.line() || a.column() != b.column()) return false;
  return a.file_name() == b.file_name() || std::string_view(a.file_name()) == b.file_name();
}

class Emulator {
 public:
  void set_schedule(const Schedule& schedule) { schedule_ = schedule; }
  void run(const Grid& grid, const std::function<void()>& body);
  void run_current();
  void wait(State state, std::source_location where);
  [[noreturn]] void fail_current(const std::string& text) { fail(current_, text); }

  Thread& current() { return *threads_[current_]; }
  unsigned own_lane() const { return current_ % kWarp; }
  SharedMemory& shared() { return shared_; }
  size_t shared_bytes() const { return shared_bytes_; }

 private:
  // Returns the numbers 0 to count - 1 in the order of the schedule.
  std::vector<unsigned> ordered(unsigned count);
  void run_block(unsigned block);
  void run_warp(unsigned first);
  void resume(unsigned thread);
  bool settle_lanes(unsigned first);
  void exchange(unsigned first, unsigned lane);
  void open_barrier();
  [[noreturn]] void fail(unsigned thread, const std::string& text);
  std::string place_of(const Thread& thread) const;

  Schedule schedule_;
  std::mt19937_64 random_;
  SharedMemory shared_;
  size_t shared_bytes_ = 0;
  std::vector<std::unique_ptr<Thread>> threads_;  // kept for the next block
  unsigned count_ = 0;                            // the number of threads of a block
  unsigned current_ = 0;
  const std::function<void()>* body_ = nullptr;
  std::exception_ptr thrown_;
};

Emulator& emulator() {
  static Emulator instance;
  return instance;
}

void run_current() { emulator().run_current(); }

void Emulator::run_current() {
  try {
    (*body_)();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  current().state = State::kDone;
}

void Emulator::run(const Grid& grid, const std::function<void()>& body) {
  const auto [x, y, z] = grid.blocks;
  const uint64_t threads = uint64_t{grid.threads.x} * grid.threads.y * grid.threads.z;
  if (threads == 0 || threads > kMostThreads)
    throw KernelError(fmt::format("a block of {} threads", threads));
  if (x == 0 || y == 0 || z == 0 || x > INT32_MAX || y > kMostRowsOfBlocks || z > kMostRowsOfBlocks)
    throw KernelError(fmt::format("a grid of {} x {} x {} blocks", x, y, z));
  const uint64_t blocks = uint64_t{x} * y * z;
  if (blocks > kMostBlocks)
    throw KernelError(fmt::format("{} blocks: too many to emulate", blocks));
  count_ = static_cast<unsigned>(threads);
  body_ = &body;
  shared_bytes_ = grid.shared_bytes;
  gridDim = grid.blocks;
  blockDim = grid.threads;
  random_.seed(schedule_.seed);
  try {
    for (const unsigned block : ordered(static_cast<unsigned>(blocks))) run_block(block);
  } catch (...) {
    threads_.clear();  // not reusable, because they have stopped in the middle of the kernel
    throw;
  }
}

std::vector<unsigned> Emulator::ordered(unsigned count) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0U);
  if (schedule_.order == Order::kReversed) std::reverse(order.begin(), order.end());
  if (schedule_.order == Order::kRandom) std::shuffle(order.begin(), order.end(), random_);
  return order;
}

void Emulator::run_block(unsigned block) {
  blockIdx = {block % gridDim.x, block / gridDim.x % gridDim.y, block / gridDim.x / gridDim.y};
  shared_.clear();
  while (threads_.size() < count_) threads_.push_back(std::make_unique<Thread>());
  for (unsigned t = 0; t < count_; ++t) {
    threads_[t]->state = State::kReady;
    threads_[t]->index = {t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y};
  }
  const auto is_done = [](const auto& thread) { return thread->state == State::kDone; };
  for (;;) {
    for (const unsigned warp : ordered((count_ + kWarp - 1) / kWarp)) run_warp(warp * kWarp);
    if (std::all_of(threads_.begin(), threads_.begin() + count_, is_done)) break;
    open_barrier();
  }
  if (const std::string damage = shared_.damage(); !damage.empty())
    throw KernelError(
        fmt::format("block ({}, {}, {}): {}", blockIdx.x, blockIdx.y, blockIdx.z, damage));
}

// Runs each thread of the warp until it waits for the block or ends. Each warp gets as far ahead of
// the other warps as possible, because this shows races.
void Emulator::run_warp(unsigned first) {
  const unsigned lanes = std::min(kWarp, count_ - first);
  do {
    for (const unsigned lane : ordered(lanes)) {
      if (threads_[first + lane]->state == State::kReady) resume(first + lane);
    }
  } while (settle_lanes(first));
}

void Emulator::resume(unsigned thread) {
  current_ = thread;
  threadIdx = threads_[thread]->index;
  threads_[thread]->fiber.resume();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Emulator::wait(State state, std::source_location where) {
  Thread& self = current();
  self.state = state;
  self.where = where;
  self.fiber.suspend();
}

// Resumes the lanes of a warp that wait for each other. Returns false if no lane of the warp is in
// the state kAtLanes. Calls fail() if a lane waits for a lane that never arrives.
bool Emulator::settle_lanes(unsigned first) {
  const unsigned lanes = std::min(kWarp, count_ - first);
  bool waiting = false;
  unsigned stuck = 0;
  unsigned missing = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const Thread& self = *threads_[first + lane];
    if (self.state != State::kAtLanes) continue;
    const uint32_t mask = self.exchange.mask;
    const auto arrived = [&](unsigned other) {
      const bool exists = other < lanes;
      return exists && threads_[first + other]->state == State::kAtLanes &&
             threads_[first + other]->exchange.mask == mask &&
             same_place(threads_[first + other]->where, self.where);
    };
    unsigned absent = 0;
    while (absent < kWarp && ((mask >> absent & 1U) == 0 || arrived(absent))) ++absent;
    if (absent == kWarp) {
      exchange(first, lane);
      return true;
    }
    waiting = true;
    stuck = first + lane;
    missing = absent;
  }
  if (!waiting) return false;
  const bool exists = missing < lanes;
  fail(stuck, fmt::format("waits for lane {}, which {}", missing,
                          exists ? place_of(*threads_[first + missing]) : "does not exist"));
}

// Computes Exchange::result for each lane in the mask of `lane`. All of these lanes have arrived.
void Emulator::exchange(unsigned first, unsigned lane) {
  const uint32_t mask = threads_[first + lane]->exchange.mask;
  for (unsigned reader = 0; reader < kWarp; ++reader) {
    if ((mask >> reader & 1U) == 0) continue;
    Exchange& own = threads_[first + reader]->exchange;
    const int source = own.source_lane;
    if (source < 0 || source >= static_cast<int>(kWarp) || (mask >> source & 1U) == 0)
      fail(first + reader, fmt::format("reads lane {}, which takes no part", source));
    own.result = threads_[first + static_cast<unsigned>(source)]->exchange.value;
  }
  for (unsigned reader = 0; reader < kWarp; ++reader) {
    if ((mask >> reader & 1U) != 0) threads_[first + reader]->state = State::kReady;
  }
}

// Lets all threads of the block go on from a barrier. Calls fail() if not all threads wait at the
// same barrier.
void Emulator::open_barrier() {
  unsigned waiting = 0;
  while (threads_[waiting]->state == State::kDone) ++waiting;
  const std::source_location where = threads_[waiting]->where;
  for (unsigned t = 0; t < count_; ++t) {
    Thread& thread = *threads_[t];
    if (thread.state == State::kDone || !same_place(thread.where, where))
      fail(waiting, fmt::format("waits for thread ({}, {}, {}), which {}", thread.index.x,
                                thread.index.y, thread.index.z, place_of(thread)));
  }
  for (unsigned t = 0; t < count_; ++t) threads_[t]->state = State::kReady;
}

std::string Emulator::place_of(const Thread& thread) const {
  if (thread.state == State::kDone) return "has ended";
  return fmt::format("waits at {}", describe(thread.where));
}

void Emulator::fail(unsigned thread, const std::string& text) {
  const uint3 index = threads_[thread]->index;
  throw KernelError(fmt::format("{}: thread ({}, {}, {}) of block ({}, {}, {}), lane {}, {}",
                                describe(threads_[thread]->where), index.x, index.y, index.z,
                                blockIdx.x, blockIdx.y, blockIdx.z, thread % kWarp, text));
}

}  // namespace

void set_schedule(const Schedule& schedule) { emulator().set_schedule(schedule); }

void run(const Grid& grid, const std::function<void()>& thread) { emulator().run(grid, thread); }

void wait_for_block(std::source_location where) { emulator().wait(State::kAtBlock, where); }

void wait_for_lanes(uint32_t mask, std::source_location where) {
  shuffle(mask, 0, own_lane(), where);
}

uint64_t shuffle(uint32_t mask, uint64_t value, int source_lane, std::source_location where) {
  Thread& self = emulator().current();
  self.where = where;
  if ((mask >> emulator().own_lane() & 1U) == 0)
    emulator().fail_current(fmt::format("is not in its own mask {:#010x}", mask));
  self.exchange = {.mask = mask, .value = value, .source_lane = source_lane};
  emulator().wait(State::kAtLanes, where);
  return self.exchange.result;
}

int own_lane() { return static_cast<int>(emulator().own_lane()); }

void* shared_array(const void* key, size_t bytes, std::source_location where) {
  return emulator().shared().array(key, bytes, where);
}

void* dynamic_shared(std::source_location where) {
  return emulator().shared().array(&kDynamic, emulator().shared_bytes(), where);
}

}  // namespace encode::emulator

// plugin.cu calls this function of the CUDA runtime, which is not linked.
extern "C" cudaError_t cudaGetDeviceProperties(cudaDeviceProp* /*properties*/, int /*device*/) {
  return cudaErrorNoDevice;
}
