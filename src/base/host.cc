#include "base/host.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <malloc.h>
#include <optional>
#include <sched.h>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/units.h"

namespace encode {
namespace {

int64_t meminfo_bytes(const std::string& root, const std::string& key) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

// The names of the files of a cgroup version, and of keys in its memory.stat.
struct GroupFiles {
  const char* limit;
  const char* soft_limit = nullptr;
  const char* usage;
  const char* inactive_key;
  const char* active_key;
  const char* mapped_key;
};
constexpr GroupFiles kV1 = {.limit = "memory.limit_in_bytes",
                            .usage = "memory.usage_in_bytes",
                            .inactive_key = "total_inactive_file",
                            .active_key = "total_active_file",
                            .mapped_key = "total_mapped_file"};
constexpr GroupFiles kV2 = {.limit = "memory.max",
                            .soft_limit = "memory.high",
                            .usage = "memory.current",
                            .inactive_key = "inactive_file",
                            .active_key = "active_file",
                            .mapped_key = "file_mapped"};

// Returns the page cache of a cgroup. The group counts it as used, but the kernel frees it before
// it kills a process. It includes active pages, because the pages of an input that is read twice
// are active. It excludes pages that a process maps, because these are the code of running
// programs.
int64_t reclaimable_bytes(const std::string& directory, const GroupFiles& files) {
  const auto value = [&directory](const char* key) {
    return read_keyed_integer(directory + "/memory.stat", key).value_or(0);
  };
  const int64_t active = value(files.active_key) - value(files.mapped_key);
  return value(files.inactive_key) + std::max<int64_t>(active, 0);
}

// Returns the smaller one of the two limits of a group, or nullopt if it has none.
std::optional<int64_t> limit_of(const std::string& directory, const GroupFiles& files) {
  // cgroup v1 writes a number near 2^63 if the group has no limit.
  constexpr int64_t kNoLimit = int64_t{1} << 60;
  std::optional<int64_t> least;
  for (const char* name : {files.limit, files.soft_limit}) {
    if (name == nullptr) continue;
    const auto limit = read_integer(fmt::format("{}/{}", directory, name));
    if (limit && *limit > 0 && *limit < std::min(least.value_or(kNoLimit), kNoLimit)) least = limit;
  }
  return least;
}

// Tightens `memory` by the limit of one group.
void take_group(const std::string& directory, const GroupFiles& files, HostMemory& memory) {
  const auto limit = limit_of(directory, files);
  if (!limit) return;
  memory.limit_bytes = std::min(memory.limit_bytes, *limit);
  const auto usage = read_integer(fmt::format("{}/{}", directory, files.usage));
  if (!usage) return;
  memory.available_bytes =
      std::min(memory.available_bytes, *limit - *usage + reclaimable_bytes(directory, files));
}

// Tightens `memory` by the limits of all groups.
void take_groups(const std::string& root, HostMemory& memory) {
  visit_cgroups(root, "",
                [&](const std::string& directory) { take_group(directory, kV2, memory); });
  visit_cgroups(root, "memory",
                [&](const std::string& directory) { take_group(directory, kV1, memory); });
}

// Returns the bytes of all zones, including pages that a balloon has taken; 0 if the kernel does
// not say.
int64_t present_bytes(const std::string& root) {
  std::ifstream file(root + "/proc/zoneinfo");
  int64_t pages = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    int64_t value = 0;
    if (words >> key >> value && key == "present") pages += value;
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

double stalled_percent(const std::string& root) {
  std::optional<std::string> line;
  visit_cgroups(root, "", [&line](const std::string& directory) {
    if (!line) line = read_first_line(directory + "/memory.pressure");
  });
  if (!line) line = read_first_line(root + "/proc/pressure/memory");
  constexpr std::string_view kKey = "some avg10=";
  if (!line || !line->starts_with(kKey)) return 0;
  double percent = 0;
  std::from_chars(line->data() + kKey.size(), line->data() + line->size(), percent);
  return percent;
}

int64_t resident_of(const std::string& statm) {
  std::ifstream file(statm);
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * ::sysconf(_SC_PAGESIZE);
}

double group_cpus() {
  double cpus = std::numeric_limits<double>::max();
  visit_cgroups("", "", [&](const std::string& directory) {
    const auto line = read_first_line(directory + "/cpu.max");
    if (!line) return;
    std::istringstream fields(*line);
    double quota = 0;
    double period = 0;
    if (fields >> quota >> period && quota > 0 && period > 0) cpus = std::min(cpus, quota / period);
  });
  visit_cgroups("", "cpu", [&](const std::string& directory) {
    const auto quota = read_integer(directory + "/cpu.cfs_quota_us");
    const auto period = read_integer(directory + "/cpu.cfs_period_us");
    if (quota && period && *quota > 0 && *period > 0) {
      cpus = std::min(cpus, static_cast<double>(*quota) / static_cast<double>(*period));
    }
  });
  return cpus;
}

}  // namespace

double HostMemory::used_percent() const {
  if (limit_bytes <= 0) return 0;
  return 100.0 * static_cast<double>(limit_bytes - available_bytes) /
         static_cast<double>(limit_bytes);
}

HostMemory host_memory(const std::string& root) {
  HostMemory memory = {.limit_bytes = meminfo_bytes(root, "MemTotal"),
                       .available_bytes = meminfo_bytes(root, "MemAvailable"),
                       .stalled_percent = stalled_percent(root)};
  take_groups(root, memory);
  memory.available_bytes = std::clamp<int64_t>(memory.available_bytes, 0, memory.limit_bytes);
  return memory;
}

int64_t most_memory_bytes(const std::string& root) {
  constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  const int64_t present = present_bytes(root);
  HostMemory most;
  most.limit_bytes = present > 0 ? std::max(present, meminfo_bytes(root, "MemTotal")) : kUnknown;
  take_groups(root, most);
  return most.limit_bytes == kUnknown ? 0 : most.limit_bytes;
}

HostMemory within(const HostMemory& host, int64_t limit_bytes, int64_t used_bytes) {
  HostMemory memory = host;
  memory.limit_bytes = std::min(host.limit_bytes, limit_bytes);
  memory.available_bytes = std::clamp<int64_t>(
      std::min(host.available_bytes, limit_bytes - used_bytes), 0, memory.limit_bytes);
  return memory;
}

int64_t swap_bytes() { return meminfo_bytes("", "SwapTotal"); }

int64_t resident_bytes() { return resident_of("/proc/self/statm"); }
int64_t resident_bytes(pid_t process) {
  return resident_of(fmt::format("/proc/{}/statm", process));
}

void trim_heap() { ::malloc_trim(0); }

int64_t private_resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  int64_t shared_pages = 0;
  file >> total_pages >> resident_pages >> shared_pages;
  return (resident_pages - shared_pages) * ::sysconf(_SC_PAGESIZE);
}

// Reads /proc, because getrusage() would also count the memory of the program that started this
// one.
int64_t peak_resident_bytes() {
  std::ifstream file("/proc/self/status");
  constexpr std::string_view kKey = "VmHWM:";
  for (std::string line; std::getline(file, line);) {
    constexpr int64_t kKibi = 1024;
    if (line.starts_with(kKey)) return kKibi * std::stoll(line.substr(kKey.size()));
  }
  return resident_bytes();
}

int64_t cpu_quota() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int64_t affinity = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  const double group = group_cpus();
  const int64_t quota =
      group > static_cast<double>(affinity) ? affinity : static_cast<int64_t>(std::ceil(group));
  return std::max<int64_t>(1, quota);
}

int64_t threads_or_quota(int64_t setting) { return setting > 0 ? setting : cpu_quota(); }

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string describe(const HostMemory& memory) {
  return describe_host_memory(memory.used_percent(), memory.available_bytes);
}

std::string describe_host_memory(double used_percent, int64_t available_bytes) {
  return fmt::format("host memory {:.1f}% ({} available)", used_percent,
                     format_bytes(available_bytes));
}

}  // namespace encode
