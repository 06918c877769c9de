#include "job/failure.h"

#include <fmt/format.h>
#include <new>
#include <string>
#include <utility>

#include <c10/util/Exception.h>

namespace encode {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

constexpr const char* kWhere = "encode-worker";

ErrorDetail broken_cuda_context(std::string found) {
  return {.exit_code = ExitCode::kTempFail,
          .code = "device.cuda",
          .what = "the CUDA context failed",
          .where = kWhere,
          .expected = "a CUDA context that works",
          .found = std::move(found),
          .hint = "run the same command again; it continues after the last committed chunk"};
}

ErrorDetail out_of_device_memory(const std::string& found) {
  return {.exit_code = ExitCode::kUnavailable,
          .code = "device.memory",
          .what = "out of device memory",
          .where = kWhere,
          .expected = "free memory on the device",
          .found = first_line(found),
          .hint =
              "lower semantic.batch_tokens, or free memory on the device (nvidia-smi); committed "
              "chunks are kept"};
}

ErrorDetail out_of_host_memory() {
  return {.exit_code = ExitCode::kTempFail,
          .code = "host.memory",
          .what = "out of host memory",
          .where = kWhere,
          .expected = "free host memory",
          .found = "std::bad_alloc",
          .hint = "free memory, or lower semantic.chunk_size; committed chunks are kept"};
}

ErrorDetail defect(const char* code, const char* what, const std::string& found) {
  return {.exit_code = ExitCode::kInternal,
          .code = code,
          .what = what,
          .where = kWhere,
          .expected = "no exception",
          .found = first_line(found),
          .hint = "please report this with the log"};
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

ErrorDetail describe(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  // Before the allocator reports that it is out of memory, it asks NVML about other processes and
  // asserts that NVML answers. If that assertion fails, the device is out of memory.
  if (contains(text, "NVML_SUCCESS")) return out_of_device_memory(text);
  if (contains(text, "CUDA error") || contains(text, "CUBLAS_STATUS") ||
      contains(text, "cuDNN error")) {
    return broken_cuda_context(first_line(text));
  }
  return defect("internal.libtorch", "LibTorch refused an operation", text);
}

}  // namespace

ErrorDetail describe_current_exception() {
  try {
    throw;
  } catch (const Error& error) {
    return error.detail();
  } catch (const c10::OutOfMemoryError& error) {
    return out_of_device_memory(error.what_without_backtrace());
  } catch (const c10::AcceleratorError& error) {
    return broken_cuda_context(fmt::format("CUDA error {}: {}", error.get_error_code(),
                                           first_line(error.what_without_backtrace())));
  } catch (const c10::Error& error) {
    return describe(error);
  } catch (const std::bad_alloc&) {
    return out_of_host_memory();
  } catch (const std::exception& error) {
    return defect("internal.exception", "unexpected failure", error.what());
  }
}

}  // namespace encode
