#include "device.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <list>
#include <mutex>
#include <unistd.h>

#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/equal.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include "stand_in.h"

namespace stand_in {
namespace {

int64_t number(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoll(value, nullptr, 10) : otherwise;
}

// A copy to pinned memory, or a read of pinned memory, that is complete only at the next wait.
struct Pending {
  at::Tensor host;
  at::Tensor value;
  bool host_is_read = false;
};

std::mutex& pending_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::list<Pending>& pending() {
  // Never deleted, so that it outlives every other static object.
  static auto* const list = new std::list<Pending>;
  return *list;
}

std::atomic<bool>& failed() {
  static std::atomic<bool> value = false;
  return value;
}

std::atomic<bool>& reported() {
  static std::atomic<bool> value = false;
  return value;
}

constexpr int kIllegalAddress = 700;

void report_failure() {
  reported() = true;
  throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)},
                              kIllegalAddress,
                              "CUDA error: an illegal memory access was encountered");
}

// Completes a copy, or checks that memory has not changed while the device was reading it. Skips
// the check if only the queue still refers to the memory.
void finish(const Pending& work) {
  if (!work.host_is_read) {
    at::Tensor host = work.host;
    host.copy_(work.value);
    return;
  }
  if (work.host.use_count() > 1 && !at::equal(work.host, work.value)) {
    std::fputs("stand-in: pinned memory changed while the device was reading it\n", stderr);
    std::abort();
  }
}

thread_local c10::DeviceIndex thread_device = 0;

struct Guard final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = c10::kCUDA;
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {c10::kCUDA, current_device()}; }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.index() < settings().devices, "CUDA error: invalid device ordinal");
    uncheckedSetDevice(device);
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0) set_current_device(device.index());
  }
  c10::Stream getStream(c10::Device device) const override {
    const c10::DeviceIndex index = device.index() < 0 ? current_device() : device.index();
    return c10::Stream(c10::Stream::DEFAULT, {c10::kCUDA, index});
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return getStream(device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  void* getStreamNativeHandle(c10::Stream) const override { return nullptr; }
  void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
    static char recorded = 0;
    *event = &recorded;
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return false; }
  bool queryStream(const c10::Stream&) const override { return false; }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(settings().devices);
  }
  void synchronizeStream(const c10::Stream&) const override { wait_for_device(); }
  void synchronizeEvent(void* event) const override {
    TORCH_CHECK(event != nullptr, "the event was never recorded");
    wait_for_device();
  }
  void synchronizeDevice(c10::DeviceIndex) const override { wait_for_device(); }
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard)

}  // namespace

// LibTorch finds this class by its name, CUDAHooks, in a registry.
struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return settings().devices > 0; }
  bool hasCUDA() const override { return settings().devices > 0; }
  bool hasCuBLASLt() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override {
    return static_cast<c10::DeviceIndex>(settings().devices);
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator(); }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  c10::Device getDeviceFromPtr(void*) const override { return {c10::kCUDA, current_device()}; }
};

const Settings& settings() {
  static const Settings once = [] {
    Settings read;
    read.devices = number("STAND_IN_DEVICES", read.devices);
    read.memory_bytes = number("STAND_IN_MEMORY_BYTES", read.memory_bytes);
    read.fail_allocation = number("STAND_IN_FAIL_ALLOCATION", 0);
    read.fail_launch = number("STAND_IN_FAIL_LAUNCH", 0);
    if (const char* path = std::getenv("STAND_IN_COUNTS")) read.counts = path;
    if (const char* path = std::getenv("STAND_IN_FAIL_ONCE")) read.fail_once = path;
    return read;
  }();
  return once;
}

Counters& counters() {
  static Counters all;
  return all;
}

// The worker ends without destructors, so the file is written again and again.
void write_counts() {
  std::FILE* file = std::fopen(settings().counts.c_str(), "w");
  if (file == nullptr) return;
  std::fprintf(file, "%lld %lld\n", static_cast<long long>(counters().launches),
               static_cast<long long>(counters().requests));
  std::fclose(file);
}

bool may_fail() {
  if (settings().fail_once.empty()) return true;
  const int fd =
      ::open(settings().fail_once.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

void count_launch() {
  if (reported()) report_failure();
  if (++counters().launches == settings().fail_launch && may_fail()) failed() = true;
}

void wait_for_device() {
  ++counters().waits;
  if (!settings().counts.empty()) write_counts();
  if (failed()) report_failure();
  const std::lock_guard lock(pending_mutex());
  for (const Pending& work : pending()) finish(work);
  pending().clear();
}

void copy_later(const at::Tensor& to, const at::Tensor& value) {
  to.view(at::kByte).fill_(0xff);
  const std::lock_guard lock(pending_mutex());
  pending().push_back({.host = to, .value = value});
}

void reading_later(const at::Tensor& from) {
  const std::lock_guard lock(pending_mutex());
  pending().push_back({.host = from, .value = from.clone(), .host_is_read = true});
}

c10::DeviceIndex current_device() { return thread_device; }
void set_current_device(c10::DeviceIndex index) { thread_device = index; }

}  // namespace stand_in

namespace at {
using stand_in::CUDAHooks;
REGISTER_CUDA_HOOKS(CUDAHooks)
}  // namespace at

extern "C" CudaStandInCounts cuda_stand_in_counts() {
  const stand_in::Counters& counters = stand_in::counters();
  return {counters.launches, counters.waits, counters.device_allocations,
          counters.pinned_allocations, counters.bytes};
}

extern "C" int cuda_stand_in_launched(int64_t bytes) {
  if (stand_in::reported()) return stand_in::kIllegalAddress;
  stand_in::count_launch();
  stand_in::counters().bytes += bytes;
  return 0;
}
