// Runs CUDA kernels on the CPU, one fiber for each thread of a block and one block after the other.
// It finds what a GPU leaves undefined: barriers and shuffles that not all threads reach, reads of
// shared memory that nobody has written (NaN), and writes beyond a shared array. Threads between
// two barriers run in a fixed or in a random order, so a race gives different results in different
// orders.
//
// There is one emulator in the process, and only one thread may use it. A kernel's code reaches it
// through launch.cuh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <vector_types.h>

namespace encode::emulator {

// The order in which the blocks of a grid, the warps of a block and the lanes of a warp run.
enum class Order { kForward, kReversed, kRandom };

struct Schedule {
  Order order = Order::kForward;
  uint64_t seed = 0;  // for Order::kRandom
};

void set_schedule(const Schedule& schedule);  // for the launches that follow

// A kernel does what is undefined on a GPU. The text says which thread does it, and at which file
// and line.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Grid {
  dim3 blocks;
  dim3 threads;  // of a block
  size_t shared_bytes = 0;
};

// Calls `thread` once for each thread of the grid. Throws KernelError.
void run(const Grid& grid, const std::function<void()>& thread);

// The functions below are called by a kernel's threads. `where` is the call in the kernel.

void wait_for_block(std::source_location where);

// Waits for the lanes of the mask.
void wait_for_lanes(uint32_t mask, std::source_location where);

// Waits for the lanes of the mask, then returns the value that `source_lane` gives.
uint64_t shuffle(uint32_t mask, uint64_t value, int source_lane, std::source_location where);

int own_lane();  // in its warp

// Returns the block's array of `bytes` bytes with that key. It holds 0xff at first, which is NaN in
// every floating-point type.
void* shared_array(const void* key, size_t bytes, std::source_location where);

void* dynamic_shared(std::source_location where);  // Grid::shared_bytes large

}  // namespace encode::emulator
