// Runs CUDA kernels on the CPU: one block after the other, with one fiber for each thread of a
// block. It finds errors that a GPU may not show:
// - if some threads do not reach a barrier or a shuffle for which others wait, that is a
//   KernelError;
// - a write beyond a shared array is a KernelError, or an error of AddressSanitizer;
// - shared memory that nobody has written is NaN;
// - a race gives a wrong result in at least one of several orders of the threads.
//
// There is one emulator in the process, and only one thread may use it. Kernels use it through
// launch.cuh.
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

// Thrown if a kernel does something that has no defined result on a GPU. The text names the thread,
// the file and the line.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Grid {
  dim3 blocks;
  dim3 threads;  // threads of a block
  size_t shared_bytes = 0;
};

// Calls `thread` once for each thread of the grid. Throws KernelError.
void run(const Grid& grid, const std::function<void()>& thread);

// Only the threads of a kernel call the functions below. `where` is the place of the call in the
// source, for the text of a KernelError.

// Waits for all threads of the block.
void wait_for_block(std::source_location where);

// Waits for the lanes (threads of the same warp) that `mask` names.
void wait_for_lanes(uint32_t mask, std::source_location where);

// Waits for the lanes that `mask` names, then returns the `value` that lane `source_lane` has
// passed.
uint64_t shuffle(uint32_t mask, uint64_t value, int source_lane, std::source_location where);

int own_lane();  // 0 to 31, the index of the thread in its warp

// Returns the block's array with this key. The first call in a block makes the array and fills it
// with 0xff, which is NaN in every floating-point type.
void* shared_array(const void* key, size_t bytes, std::source_location where);

// Returns the block's array of Grid::shared_bytes bytes. All bytes are 0xff when the block starts.
void* dynamic_shared(std::source_location where);

}  // namespace encode::emulator
