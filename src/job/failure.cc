#include "job/failure.h"

#include <fmt/format.h>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <c10/util/Exception.h>

#include "base/nvidia_driver.h"
#include "base/process_limits.h"

namespace encode {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

constexpr const char* kWhere = "encode-worker";

ErrorDetail broken_cuda_context(std::string found) {
  return {.code = "device.cuda",
          .what = "the CUDA context failed",
          .where = kWhere,
          .expected = "a CUDA context that works",
          .found = std::move(found),
          .hint = "run the same command again; it continues after the last committed chunk"};
}

ErrorDetail out_of_device_memory(const std::string& found) {
  return {.code = "device.memory",
          .what = "out of device memory",
          .where = kWhere,
          .expected = "free memory on the device",
          .found = first_line(found),
          .hint =
              "give a smaller --batch-tokens (semantic.batch_tokens), or free memory on the device "
              "(nvidia-smi); committed chunks are kept"};
}

ErrorDetail out_of_host_memory() {
  if (memory_is_limited())
    return out_of_limited_memory(kWhere, "memory for the model and the batches",
                                 "a failed allocation");
  return {.code = "host.memory",
          .exit_code = ExitCode::kTempFail,
          .what = "out of host memory",
          .where = kWhere,
          .expected = "free host memory",
          .found = "std::bad_alloc",
          .hint =
              "free memory, or give a smaller --chunk-size (semantic.chunk_size); committed "
              "chunks are kept"};
}

ErrorDetail defect(ErrorCode code, const char* what, const std::string& found) {
  return {.code = code,
          .exit_code = ExitCode::kInternal,
          .what = what,
          .where = kWhere,
          .expected = "no exception",
          .found = first_line(found),
          .hint = "please report this with the log"};
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

Failure nvml_failure(const std::string& text) {
  ErrorDetail detail = broken_cuda_context(first_line(text));
  detail.code = kNvmlFailure;
  detail.what = "the CUDA allocator failed, probably because the device memory is full";
  return {.kind = FailureKind::kNvml, .error = std::move(detail)};
}

Failure describe(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  // Before the allocator reports that it is out of memory, it asks NVML about other processes and
  // asserts that NVML answers.
  if (contains(text, "NVML_SUCCESS")) return nvml_failure(text);
  if (contains(text, "DefaultCPUAllocator"))
    return {.kind = FailureKind::kOther, .error = out_of_host_memory()};
  if (contains(text, "CUBLAS_STATUS_ALLOC_FAILED") || contains(text, "CUDA out of memory") ||
      contains(text, "CUDA error: out of memory")) {
    return {.kind = FailureKind::kOutOfDeviceMemory, .error = out_of_device_memory(text)};
  }
  if (contains(text, "CUDA error") || contains(text, "CUBLAS_STATUS") ||
      contains(text, "cuDNN error")) {
    return {.kind = FailureKind::kDeviceLost, .error = broken_cuda_context(first_line(text))};
  }
  return {.kind = FailureKind::kOther,
          .error = defect("internal.libtorch", "LibTorch refused an operation", text)};
}

Failure describe(const c10::AcceleratorError& error) {
  constexpr int kMemoryAllocation = 2;  // cudaErrorMemoryAllocation
  const std::string text = error.what_without_backtrace();
  if (error.get_error_code() == kMemoryAllocation)
    return {.kind = FailureKind::kOutOfDeviceMemory, .error = out_of_device_memory(text)};
  return {.kind = FailureKind::kDeviceLost,
          .error = broken_cuda_context(
              fmt::format("CUDA error {}: {}", error.get_error_code(), first_line(text)))};
}

}  // namespace

Failure current_failure() {
  const auto other = [](ErrorDetail detail) {
    return Failure{.kind = FailureKind::kOther, .error = std::move(detail)};
  };
  try {
    throw;
  } catch (const Error& error) {
    return other(error.detail());
  } catch (const c10::OutOfMemoryError& error) {
    return {.kind = FailureKind::kOutOfDeviceMemory,
            .error = out_of_device_memory(error.what_without_backtrace())};
  } catch (const c10::AcceleratorError& error) {
    return describe(error);
  } catch (const c10::Error& error) {
    return describe(error);
  } catch (const std::bad_alloc&) {
    return other(out_of_host_memory());
  } catch (const std::system_error& error) {
    return other(thread_error(error).detail());
  } catch (const std::exception& error) {
    return other(defect("internal.exception", "unexpected failure", error.what()));
  } catch (...) {
    return other(defect("internal.exception", "unexpected failure", "an unknown exception"));
  }
}

}  // namespace encode
