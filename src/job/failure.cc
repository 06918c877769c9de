#include "job/failure.h"

#include <new>
#include <string>
#include <utility>

#include <c10/util/Exception.h>

namespace encode {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

ErrorDetail detail(ExitCode exit_code, std::string code, std::string what, std::string found,
                   std::string hint) {
  return {.exit_code = exit_code,
          .code = std::move(code),
          .what = std::move(what),
          .where = "encode-worker",
          .expected = "",
          .found = std::move(found),
          .hint = std::move(hint)};
}

ErrorDetail out_of_device_memory(const std::string& found) {
  return detail(ExitCode::kUnavailable, "device.memory", "out of device memory", first_line(found),
                "lower semantic.batch_tokens, or free memory on the device (nvidia-smi); committed "
                "chunks are kept");
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

ErrorDetail describe(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  // The allocator asks NVML about other processes on its way to an out-of-memory report, and
  // asserts that it answers.
  if (contains(text, "NVML_SUCCESS")) return out_of_device_memory(text);
  if (contains(text, "CUDA error") || contains(text, "CUBLAS_STATUS") ||
      contains(text, "cuDNN error")) {
    return detail(ExitCode::kTempFail, "device.cuda", "the CUDA context failed", first_line(text),
                  "a new worker goes on after the last committed chunk");
  }
  return detail(ExitCode::kInternal, "internal.libtorch", "LibTorch refused an operation",
                first_line(text), "please report this with the log");
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
    return detail(ExitCode::kTempFail, "device.cuda", "the CUDA context failed",
                  "CUDA error " + std::to_string(error.get_error_code()) + ": " +
                      first_line(error.what_without_backtrace()),
                  "a new worker goes on after the last committed chunk");
  } catch (const c10::Error& error) {
    return describe(error);
  } catch (const std::bad_alloc&) {
    return detail(ExitCode::kTempFail, "host.memory", "out of host memory", "std::bad_alloc",
                  "free memory, or lower semantic.chunk_size; committed chunks are kept");
  } catch (const std::exception& error) {
    return detail(ExitCode::kInternal, "internal.exception", "unexpected failure",
                  first_line(error.what()), "please report this with the log");
  }
}

}  // namespace encode
