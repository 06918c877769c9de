#include "preflight/host_checks.h"

#include <algorithm>
#include <fmt/format.h>
#include <sys/resource.h>

#include "base/units.h"

namespace encode {
namespace {

// A worker opens the inputs, the weights, the chunk files and the libraries of LibTorch.
constexpr int64_t kLeastOpenFiles = 256;
// What a worker needs beside the weights: LibTorch's code and data, buffers, the allocator. A
// worker with a model of a few kilobytes has 180 MB (docs/preflight.md).
constexpr int64_t kWorkerBytes = 180'000'000;

int64_t soft_limit(__rlimit_resource resource) {
  struct rlimit limit = {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(INT64_MAX)));
}

}  // namespace

HostFacts host_facts() {
  return {.memory = host_memory(),
          .processors = cpu_quota(),
          .open_files = soft_limit(RLIMIT_NOFILE),
          .address_bytes = soft_limit(RLIMIT_AS)};
}

void check_host(const HostFacts& host, PreflightFindings& findings) {
  findings.green("host", fmt::format("{}: {} processors, {} of {} memory available", host_name(),
                                     host.processors, format_bytes(host.memory.available_bytes),
                                     format_bytes(host.memory.limit_bytes)));
  if (host.open_files > 0 && host.open_files < kLeastOpenFiles) {
    findings.yellow("limits",
                    fmt::format("the process may open only {} files (ulimit -n)", host.open_files),
                    fmt::format("raise the limit to {} or more", kLeastOpenFiles));
  }
  if (host.address_bytes > 0) {
    findings.yellow("limits",
                    fmt::format("the address space is limited to {} (ulimit -v); LibTorch reserves "
                                "far more than it uses",
                                format_bytes(host.address_bytes)),
                    "limit the memory by a control group instead: ulimit -v unlimited");
  }
}

bool check_memory_to_load(const HostFacts& host, const HostNeeds& needs,
                          PreflightFindings& findings) {
  const int64_t need = needs.model_bytes + kWorkerBytes;
  if (host.memory.available_bytes >= need) return true;
  findings.red(
      "memory",
      {.exit_code = ExitCode::kOsError,
       .code = "preflight.memory",
       .what = "the host has too little memory to load the model",
       .where = "",
       .expected = fmt::format("{} for the weights, {} for the worker",
                               format_bytes(needs.model_bytes), format_bytes(kWorkerBytes)),
       .found = fmt::format("{} available of {}", format_bytes(host.memory.available_bytes),
                            format_bytes(host.memory.limit_bytes)),
       .hint = "give the job more memory, or choose a smaller model"});
  return false;
}

void check_memory_to_run(const HostFacts& host, const HostNeeds& needs,
                         PreflightFindings& findings) {
  const int64_t need = needs.worker_bytes + needs.prefetch_bytes;
  if (host.memory.available_bytes >= need) {
    findings.green("memory",
                   fmt::format("a worker with the model takes {}, and reads ahead up to "
                               "{}; {} are available",
                               format_bytes(needs.worker_bytes), format_bytes(needs.prefetch_bytes),
                               format_bytes(host.memory.available_bytes)));
    return;
  }
  findings.yellow(
      "memory",
      fmt::format("a worker with the model takes {}, and reads ahead up to {}, but only "
                  "{} are available",
                  format_bytes(needs.worker_bytes), format_bytes(needs.prefetch_bytes),
                  format_bytes(host.memory.available_bytes)),
      "give the job more memory, or lower hardware.prefetch_bytes");
}

}  // namespace encode
