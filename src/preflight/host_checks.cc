#include <fmt/format.h>
#include <sys/resource.h>

#include "encode/config.h"

#include "base/allocator_conf.h"
#include "base/process_limits.h"
#include "base/units.h"
#include "config/schema.h"
#include "preflight/checks.h"
#include "run_plan/run_devices.h"
#include "supervisor/worker/fault_policy.h"

namespace encode {
namespace {

// A worker opens the inputs, the weights, the chunk files and the libraries of LibTorch.
constexpr int64_t kAdvisedOpenFiles = 256;

void check_search(const RunConfig& config, bool on_gpu, PreflightFindings& findings) {
  const int64_t restarts = config.hardware.max_restarts;
  if (restarts >= FaultPolicy::kSearchRestarts) {
    findings.green(
        "search",
        fmt::format("a row that kills every worker is found after {} of them{}, and set "
                    "aside",
                    FaultPolicy::kSearchWorkers, on_gpu ? ", with synchronous launches" : ""));
    return;
  }
  findings.yellow("search",
                  fmt::format("with max_restarts: {} a run ends before it has found a row that "
                              "kills every worker",
                              restarts),
                  fmt::format("give {}, or more", spelled_setting("hardware.max_restarts", "5",
                                                                  config.config_path.empty())));
}

void check_quarantine_policy(const RunConfig& config, PreflightFindings& findings) {
  const char* effect = "no matrix while a row is set aside; all other rows are kept";
  if (config.store.quarantine == QuarantinePolicy::kZeros) effect = "zeros in place of such rows";
  if (config.store.quarantine == QuarantinePolicy::kDrop) effect = "a matrix without such rows";
  findings.green("quarantine", fmt::format("{}: {}", to_string(config.store.quarantine), effect));
}

void check_replacement(const RunConfig& config, PreflightFindings& findings) {
  const HardwareOptions& hardware = config.hardware;
  if (!hardware.worker_chunks) {
    findings.green("worker",
                   fmt::format("a new process replaces it after at least {} chunks, so that its "
                               "start costs at most {} % of the time",
                               kLeastGpuChunks, 100 / kStartsPerRetirement));
    return;
  }
  if (*hardware.worker_chunks == 0) {
    findings.yellow("worker", "worker_chunks: 0, so a worker is replaced only after a fault",
                    fmt::format("leave {} out", setting_name("hardware.worker_chunks",
                                                             config.config_path.empty())));
    return;
  }
  findings.green("worker", fmt::format("a new process replaces it after {}",
                                       format_count(*hardware.worker_chunks, "chunk", "chunks")));
}

// A run refuses unreadable settings even on a machine without a GPU.
void check_allocator(const RunConfig& config, bool on_gpu, PreflightFindings& findings) {
  const HardwareOptions& hardware = config.hardware;
  findings.guard("allocator", [&] {
    const std::string settings = allocator_settings(hardware);
    if (on_gpu) findings.green("allocator", settings);
  });
  if (!on_gpu || !hardware.synchronous_launches) return;
  findings.yellow("launches", "synchronous_launches: true makes a GPU slow",
                  "a run that searches a row turns them on by itself");
}

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
  if (host.open_files > 0 && host.open_files < kAdvisedOpenFiles) {
    findings.yellow("limits",
                    fmt::format("the process may open only {} files (ulimit -n)", host.open_files),
                    fmt::format("raise the limit to {} or more", kAdvisedOpenFiles));
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
  const bool limited = needs.limit.bytes > 0;
  const HostMemory memory =
      limited ? within(host.memory, needs.limit.of_worker(), resident_bytes()) : host.memory;
  const std::string available =
      fmt::format("{} are available{}", format_bytes(memory.available_bytes),
                  limited ? " within the limit of " + describe(needs.limit) : "");
  if (memory.available_bytes >= need) {
    findings.green("memory", fmt::format("a worker with the model takes {}, and reads ahead up to "
                                         "{}; {}",
                                         format_bytes(needs.worker_bytes),
                                         format_bytes(needs.prefetch_bytes), available));
    return;
  }
  findings.yellow(
      "memory",
      fmt::format("a worker with the model takes {}, and reads ahead up to {}, but "
                  "only {}",
                  format_bytes(needs.worker_bytes), format_bytes(needs.prefetch_bytes), available),
      fmt::format("{}, or read less ahead (--set hardware.prefetch_bytes=BYTES)",
                  limited ? "raise the limit" : "give the job more memory"));
}

void check_defences(const RunConfig& config, bool machine_has_gpu, PreflightFindings& findings) {
  const bool may_use_gpu = devices_of(config.hardware).front().kind != DeviceChoice::Kind::kCpu;
  const bool on_gpu = may_use_gpu && machine_has_gpu;
  if (may_use_gpu) check_allocator(config, on_gpu, findings);
  if (on_gpu) check_replacement(config, findings);
  check_search(config, on_gpu, findings);
  check_quarantine_policy(config, findings);
}

}  // namespace encode
