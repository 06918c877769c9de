#include "job/failure.h"

#include <fmt/format.h>
#include <new>
#include <string>
#include <utility>

#include <c10/util/Exception.h>

namespace encode {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

ErrorDetail failure(ExitCode exit_code, const char* code, const char* what, const char* hint) {
  return {.exit_code = exit_code,
          .code = code,
          .what = what,
          .where = "encode-worker",
          .expected = "",
          .found = "",
          .hint = hint};
}

ErrorDetail with_found(ErrorDetail detail, std::string found) {
  detail.found = std::move(found);
  return detail;
}

ErrorDetail broken_cuda_context() {
  return failure(ExitCode::kTempFail, "device.cuda", "the CUDA context failed",
                 "a new worker continues after the last committed chunk");
}

ErrorDetail out_of_device_memory(const std::string& found) {
  return with_found(
      failure(ExitCode::kUnavailable, "device.memory", "out of device memory",
              "lower semantic.batch_tokens, or free memory on the device (nvidia-smi); committed "
              "chunks are kept"),
      first_line(found));
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
    return with_found(broken_cuda_context(), first_line(text));
  }
  return with_found(failure(ExitCode::kInternal, "internal.libtorch",
                            "LibTorch refused an operation", "please report this with the log"),
                    first_line(text));
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
    return with_found(broken_cuda_context(),
                      fmt::format("CUDA error {}: {}", error.get_error_code(),
                                  first_line(error.what_without_backtrace())));
  } catch (const c10::Error& error) {
    return describe(error);
  } catch (const std::bad_alloc&) {
    return with_found(
        failure(ExitCode::kTempFail, "host.memory", "out of host memory",
                "free memory, or lower semantic.chunk_size; committed chunks are kept"),
        "std::bad_alloc");
  } catch (const std::exception& error) {
    return with_found(failure(ExitCode::kInternal, "internal.exception", "unexpected failure",
                              "please report this with the log"),
                      first_line(error.what()));
  }
}

}  // namespace encode
