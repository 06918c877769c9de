#include "preflight/host_checks.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include "base/process_limits.h"
#include "base/units.h"

namespace encode {
namespace {

// A worker opens the inputs, the weights, the chunk files and the libraries of LibTorch.
constexpr int64_t kLeastOpenFiles = 256;

}  // namespace

HostFacts host_facts() {
  return {.memory = host_memory(),
          .processors = cpu_quota(),
          .open_files = process_limit(RLIMIT_NOFILE).value_or(0),
          .address_bytes = process_limit(RLIMIT_AS).value_or(0)};
}

void check_host(const HostFacts& host, PreflightFindings& findings) {
  findings.green("host", fmt::format("{}: {}, {} of {} memory available", host_name(),
                                     format_count(host.processors, "processor", "processors"),
                                     format_bytes(host.memory.available_bytes),
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
