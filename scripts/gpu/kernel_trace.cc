// Records when each kernel and each copy of a process runs on the GPU, or, if KERNEL_TRACE_CALLS is
// set, when the host is in each function of the CUDA runtime and the driver. The CUDA driver loads
// this library into each process that has CUDA_INJECTION64_PATH, see the CUPTI documentation,
// "Injection". kernel_times.py builds it and reads its files.
//
// A process writes KERNEL_TRACE_FOLDER/PID.tsv. It has two kinds of lines:
//   name  NUMBER  NAME          a number for a name
//   span  BEGIN  END  NUMBER    the nanoseconds in which the operation with this name ran. The name
//                               of a call begins with the number of its thread

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cupti.h>
#include <cxxabi.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace {

constexpr size_t kBufferBytes = 1 << 20;
constexpr size_t kBufferAlignment = 8;  // CUPTI's
// A worker can end by _exit() or a signal, so a file is written during the run.
constexpr std::chrono::milliseconds kFlushPeriod(100);

class Trace {
 public:
  void add(uint64_t begin, uint64_t end, const std::string& mangled) {
    std::lock_guard lock(mutex_);
    if (file_ == nullptr || end == 0) return;  // it has not ended yet
    const auto [entry, added] = numbers_.emplace(mangled, numbers_.size());
    if (added) std::fprintf(file_, "name\t%zu\t%s\n", entry->second, plain(mangled).c_str());
    std::fprintf(file_, "span\t%" PRIu64 "\t%" PRIu64 "\t%zu\n", begin, end, entry->second);
  }

  void flush() {
    std::lock_guard lock(mutex_);
    if (file_ != nullptr) std::fflush(file_);
  }

 private:
  static FILE* open_file() {
    const char* folder = std::getenv("KERNEL_TRACE_FOLDER");
    if (folder == nullptr) return nullptr;
    return std::fopen((std::string(folder) + "/" + std::to_string(::getpid()) + ".tsv").c_str(),
                      "w");
  }

  static std::string plain(const std::string& mangled) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
    return status == 0 ? name.get() : mangled;
  }

  std::mutex mutex_;
  FILE* file_ = open_file();
  std::unordered_map<std::string, size_t> numbers_;
};

Trace& trace() {
  static Trace* const instance = new Trace;  // outlives the threads of CUPTI
  return *instance;
}

void CUPTIAPI request(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;  // as many as fit
}

const char* direction(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy to the device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy to the host";
    default:
      return "copy on the device";
  }
}

void add(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      trace().add(kernel->start, kernel->end, kernel->name);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
      trace().add(copy->start, copy->end, direction(copy->copyKind));
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* set = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      trace().add(set->start, set->end, "memset");
      break;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      const auto* call = reinterpret_cast<const CUpti_ActivityAPI*>(record);
      const char* name = nullptr;
      cuptiGetCallbackName(call->kind == CUPTI_ACTIVITY_KIND_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API
                                                                     : CUPTI_CB_DOMAIN_DRIVER_API,
                           call->cbid, &name);
      trace().add(call->start, call->end,
                  std::to_string(call->threadId) + " " + (name != nullptr ? name : "unknown"));
      break;
    }
    default:
      break;
  }
}

void CUPTIAPI complete(CUcontext /*context*/, uint32_t /*stream*/, uint8_t* buffer, size_t /*size*/,
                       size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) add(record);
  trace().flush();
  std::free(buffer);
}

bool good(CUptiResult result, const char* call) {
  if (result != CUPTI_SUCCESS)
    std::fprintf(stderr, "kernel_trace: %s: CUPTI error %d\n", call, result);
  return result == CUPTI_SUCCESS;
}

}  // namespace

extern "C" int InitializeInjection() {
  std::vector<CUpti_ActivityKind> kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
  if (std::getenv("KERNEL_TRACE_CALLS") != nullptr)
    kinds = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER};
  if (!good(cuptiActivityRegisterCallbacks(request, complete), "cuptiActivityRegisterCallbacks"))
    return 0;
  for (const CUpti_ActivityKind kind : kinds) {
    if (!good(cuptiActivityEnable(kind), "cuptiActivityEnable")) return 0;
  }
  std::thread([] {
    for (;;) {
      std::this_thread::sleep_for(kFlushPeriod);
      cuptiActivityFlushAll(0);
    }
  }).detach();
  return 1;
}
