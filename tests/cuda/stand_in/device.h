// The stand-in's device: faults, counts and the copies that are still under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>

namespace stand_in {

struct Settings {
  int64_t devices = 1;
  int64_t memory_bytes = int64_t{8} << 30;
  int64_t fail_allocation = 0;  // 0: never
  int64_t fail_launch = 0;      // 0: never
  std::string fail_once;        // a path; empty: every process fails
};
const Settings& settings();  // from the environment, see stand_in.h

struct Counters {
  std::atomic<int64_t> launches = 0;
  std::atomic<int64_t> waits = 0;
  std::atomic<int64_t> device_allocations = 0;
  std::atomic<int64_t> pinned_allocations = 0;
};
Counters& counters();

// True if the failure that the settings ask for may happen in this process. Asked at most once.
bool may_fail();

// Counts a launch, and makes the device fail if the settings say so for this launch. Throws
// c10::AcceleratorError if an earlier failure has already been reported.
void count_launch();

// Ends all work of the device: copies arrive. Counts as a wait. Throws c10::AcceleratorError if a
// launch has failed.
void wait_for_device();

// Puts a copy from the device to host memory in the queue; `to` holds NaN until the next wait.
void copy_later(const at::Tensor& to, const at::Tensor& value);
// Notes that the device still reads `from`, pinned host memory: the next wait aborts the process if
// `from` has changed, because a GPU would have read either value.
void reading_later(const at::Tensor& from);

c10::DeviceAllocator& device_allocator();
c10::Allocator& pinned_allocator();
bool is_pinned(const void* data);

// The device that the calling thread works on.
c10::DeviceIndex current_device();
void set_current_device(c10::DeviceIndex index);

}  // namespace stand_in
