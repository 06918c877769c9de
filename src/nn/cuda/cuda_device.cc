#include "nn/cuda/cuda_device.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "encode/error.h"

#include "base/allocator_conf.h"
#include "base/environment.h"
#include "base/nvidia_driver.h"
#include "base/units.h"
#include "nn/cuda/plugin.h"
#include "nn/cuda/product_settings.h"

namespace encode {
namespace {

using DeviceQuery = int (*)(int, EncodeCudaDevice*);
using KernelTable = const EncodeCudaKernels* (*)();

// The functions of libencode_cuda.so that the program calls. The pointers are null until
// open_plugin() succeeds.
struct Plugin {
  DeviceQuery query = nullptr;
  const EncodeCudaKernels* kernels = nullptr;
};

Plugin& plugin() {
  static Plugin opened;
  return opened;
}

std::string directory_of(const void* address) {
  Dl_info info = {};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return ".";
  return std::filesystem::path(info.dli_fname).parent_path().string();
}

Error unavailable(const HardwareOptions& options, std::string found, std::string hint) {
  return absent_device(to_string(options.device), std::move(found), std::move(hint));
}

// Opens a library. Returns the error, or nullopt. The library is never closed, because LibTorch
// keeps pointers into its libraries until the process ends.
std::optional<std::string> open_library(const std::string& path) {
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return std::nullopt;
  return std::string(::dlerror());
}

// Returns nullopt, or why the plugin cannot be opened: the reason for each place where it may be.
std::optional<std::string> open_plugin() {
  std::string reasons;
  for (const std::string& path : plugin_places("libencode_cuda.so")) {
    if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      const auto query = reinterpret_cast<DeviceQuery>(::dlsym(handle, "encode_cuda_device"));
      const auto table = reinterpret_cast<KernelTable>(::dlsym(handle, "encode_cuda_kernels"));
      if (query != nullptr && table != nullptr) {
        plugin() = {.query = query, .kernels = table()};
        return std::nullopt;
      }
    }
    const char* const reason = ::dlerror();  // null if the library lacks a function
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ",
                           reason != nullptr ? reason : path + " is not encode's plugin");
  }
  return reasons;
}

EncodeCudaDevice ask_device(c10::Device device) {
  EncodeCudaDevice properties = {};
  constexpr int kNotOpened = -1;
  const DeviceQuery query = plugin().query;
  const int status = query != nullptr ? query(device.index(), &properties) : kNotOpened;
  if (status != 0) {
    throw Error({.code = "device.query",
                 .what = "the CUDA runtime does not answer for the device",
                 .where = device.str(),
                 .expected = "the properties of the device",
                 .found = fmt::format("CUDA error {}", status),
                 .hint = "check the driver with nvidia-smi"});
  }
  return properties;
}

// Asks the CUDA runtime only once, because the answer takes milliseconds and every attention layer
// calls this function. One answer is enough, because a process uses only one device.
const EncodeCudaDevice& query_device(c10::Device device) {
  static const EncodeCudaDevice properties = ask_device(device);
  return properties;
}

// LibTorch and the driver read these variables when their libraries are opened. Some settings
// ("backend") cannot be changed later. No other thread may use the environment at the same time.
void prepare_environment(const HardwareOptions& options, const std::string& settings) {
  ::setenv("PYTORCH_CUDA_ALLOC_CONF", settings.c_str(), /*replace=*/1);
  ::setenv("PYTORCH_ALLOC_CONF", settings.c_str(), /*replace=*/1);
  if (options.synchronous_launches) ::setenv("CUDA_LAUNCH_BLOCKING", "1", /*replace=*/1);
  set_product_environment();
}

// LibTorch checks the ranges of the settings that merge_allocator_conf() does not know.
void apply_allocator_settings(const std::string& settings) {
  try {
    c10::CachingAllocator::setAllocatorSettings(settings);
  } catch (const std::exception& error) {
    throw Error({.code = "config.allocator",
                 .what = "LibTorch refuses the settings of the CUDA allocator",
                 .where = "hardware.allocator.conf, PYTORCH_CUDA_ALLOC_CONF, PYTORCH_ALLOC_CONF",
                 .expected = "settings that LibTorch accepts",
                 .found = fmt::format("{}: {}", settings, preview(error.what(), 300)),
                 .hint = "correct the setting that the message names"});
  }
}

c10::DeviceAllocator& allocator(c10::Device device) {
  return *c10::getDeviceAllocator(device.type());
}

}  // namespace

OpenedDevice open_device(const HardwareOptions& options) {
  const c10::Device cpu(c10::kCPU);
  if (options.device.kind == DeviceChoice::Kind::kCpu) return {.device = cpu, .warning = ""};
  // Without a GPU, "auto" means the CPU, so only a GPU that cannot be used is worth a warning.
  const auto absent = [&](std::string found, std::string hint, bool has_gpu) -> OpenedDevice {
    if (options.device.kind != DeviceChoice::Kind::kAuto)
      throw unavailable(options, std::move(found), std::move(hint));
    if (!has_gpu) return {.device = cpu, .warning = ""};
    return {.device = cpu,
            .warning = fmt::format("this machine has an NVIDIA GPU, but the CPU computes: {}; {}",
                                   found, hint)};
  };

  const std::string settings = allocator_settings(options);
  prepare_environment(options, settings);
  // Finds LibTorch's folder from the address of a function in libtorch_cpu.so.
  const std::string torch = directory_of(reinterpret_cast<const void*>(&at::globalContext));
  if (const auto reason = open_library(torch + "/libtorch_cuda.so")) {
    if (!has_nvidia_driver()) {
      if (options.device.kind != DeviceChoice::Kind::kAuto) throw no_nvidia_driver(options.device);
      return {.device = cpu, .warning = ""};
    }
    return absent(*reason, "install LibTorch's CUDA libraries: scripts/setup.sh --cuda",
                  /*has_gpu=*/true);
  }
  const c10::DeviceIndex count = at::detail::getCUDAHooks().deviceCount();
  const int64_t ordinal = options.device.ordinal();
  if (count <= ordinal) {
    return absent(fmt::format("{} CUDA devices", count),
                  count == 0 ? "check the driver with nvidia-smi, and CUDA_VISIBLE_DEVICES"
                             : "see nvidia-smi -L",
                  /*has_gpu=*/false);
  }
  if (const auto reason = open_plugin()) {
    return absent(*reason,
                  "build on a machine with nvcc; scripts/build.sh prints whether it found one",
                  /*has_gpu=*/true);
  }
  apply_allocator_settings(settings);
  at::globalContext().lazyInitDevice(c10::kCUDA);
  set_product_options();
  const c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(ordinal));
  c10::impl::VirtualGuardImpl(c10::kCUDA).setDevice(device);
  return {.device = device, .warning = ""};
}

int64_t visible_devices() { return at::detail::getCUDAHooks().deviceCount(); }

std::string device_description(c10::Device device) {
  return device.is_cpu() ? "cpu" : query_device(device).name;
}

const EncodeCudaKernels* plugin_kernels() { return plugin().kernels; }

std::string compute_capability(c10::Device device) {
  if (!device.is_cuda()) return "";
  const EncodeCudaDevice& properties = query_device(device);
  return fmt::format("{}.{}", properties.major, properties.minor);
}

bool supports_flash_attention(c10::Device device) {
  return device.is_cuda() && query_device(device).major >= 8;
}

bool supports_bfloat16(c10::Device device) {
  return !device.is_cuda() || query_device(device).major >= 8;
}

bool supports_fp8(c10::Device device) {
  return device.is_cuda() && query_device(device).major >= 9;
}

void synchronize(c10::Device device) {
  if (device.is_cuda())
    c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

void release_cached_memory(c10::Device device) noexcept {
  if (!device.is_cuda()) return;
  try {
    allocator(device).emptyCache();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // The error is ignored, because a failed clean-up must not end a run. If the device has failed,
    // its next use reports the error again.
  }
}

DeviceMemory device_memory(c10::Device device) {
  if (!device.is_cuda()) return {};
  const auto stats = allocator(device).getDeviceStats(device.index());
  return {.allocated_bytes = stats.allocated_bytes[0].current,
          .reserved_bytes = stats.reserved_bytes[0].current,
          .peak_allocated_bytes = stats.allocated_bytes[0].peak,
          .total_bytes = query_device(device).total_memory_bytes};
}

}  // namespace encode
