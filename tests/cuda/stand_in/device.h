// The device of the stand-in: its faults, its counts, and the copies that are not complete yet.
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
  std::string counts;           // a path; "": the counts are not written
  std::string fail_once;        // a path; if empty, the failure happens in every process
};
const Settings& settings();  // from the environment, see stand_in.h

struct Counters {
  std::atomic<int64_t> launches = 0;
  std::atomic<int64_t> waits = 0;
  std::atomic<int64_t> requests = 0;  // for device memory
  std::atomic<int64_t> device_allocations = 0;
  std::atomic<int64_t> pinned_allocations = 0;
  std::atomic<int64_t> bytes = 0;
};
Counters& counters();

// Returns true if the failure that the settings ask for may happen in this process. May be called
// only once, because it creates the file Settings::fail_once.
bool may_fail();

// Counts a launch, and makes the device fail if the settings say so for this launch. Throws
// c10::AcceleratorError if an earlier failure has already been reported.
void count_launch();

// Completes all copies that are under way. Counts as a wait. Throws c10::AcceleratorError if a
// launch has failed.
void wait_for_device();

// Queues a copy from the device to host memory. `to` holds NaN until the next wait.
void copy_later(const at::Tensor& to, const at::Tensor& value);
// Notes that the device reads pinned host memory until the next wait. If `from` has changed by
// then, the wait aborts the process, because a GPU could have read the old or the new values.
void reading_later(const at::Tensor& from);

c10::DeviceAllocator& device_allocator();
c10::Allocator& pinned_allocator();
bool is_pinned(const void* data);

// Returns the index of the calling thread's current device.
c10::DeviceIndex current_device();
void set_current_device(c10::DeviceIndex index);

}  // namespace stand_in
