#include "base/host.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <optional>
#include <sched.h>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/units.h"

namespace encode {
namespace {

std::optional<std::string> read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<int64_t> read_integer(const std::string& path) {
  const auto line = read_line(path);
  if (!line || line->empty() || *line == "max") return std::nullopt;
  try {
    return std::stoll(*line);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// Returns the path of this process's group in a cgroup hierarchy. `controller` is the name of a v1
// controller, or "" for the unified hierarchy (v2).
std::string cgroup_path(const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const bool match = controller.empty()
                           ? controllers == ",,"
                           : controllers.find(fmt::format(",{},", controller)) != std::string::npos;
    if (match) return line.substr(second + 1);
  }
  return "/";
}

// Calls `visit` with the directory of the process's own group and of every group above it, because
// each group may set a limit. In a container, the walk often ends at the group of the container,
// because that group is the root of the mount.
template <typename Visit>
void walk_up(const std::string& mount, std::string group, const Visit& visit) {
  while (true) {
    visit(mount + (group == "/" ? "" : group));
    if (group.empty() || group == "/") return;
    group.erase(group.rfind('/'));
    if (group.empty()) group = "/";
  }
}

int64_t meminfo_bytes(const std::string& key) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

struct GroupMemory {
  int64_t limit = std::numeric_limits<int64_t>::max();
  int64_t left = std::numeric_limits<int64_t>::max();
};

// Returns the bytes in inactive pages of the page cache. A cgroup counts these pages as used, but
// the kernel frees them before it kills a process.
int64_t reclaimable_bytes(const std::string& directory, const std::string& key) {
  std::ifstream file(directory + "/memory.stat");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + " ", 0) == 0) return std::stoll(line.substr(key.size() + 1));
  }
  return 0;
}

GroupMemory group_memory() {
  GroupMemory memory;
  const auto take = [&memory](const std::string& directory, const char* limit_file,
                              const char* usage_file, const char* reclaimable) {
    const auto limit = read_integer(fmt::format("{}/{}", directory, limit_file));
    const auto usage = read_integer(fmt::format("{}/{}", directory, usage_file));
    // cgroup v1 writes a number near 2^63 if the group has no limit.
    if (!limit || *limit <= 0 || *limit > (int64_t{1} << 60)) return;
    memory.limit = std::min(memory.limit, *limit);
    if (usage)
      memory.left =
          std::min(memory.left, *limit - *usage + reclaimable_bytes(directory, reclaimable));
  };
  walk_up("/sys/fs/cgroup", cgroup_path(""), [&](const std::string& directory) {
    take(directory, "memory.max", "memory.current", "inactive_file");
  });
  walk_up("/sys/fs/cgroup/memory", cgroup_path("memory"), [&](const std::string& directory) {
    take(directory, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
  });
  return memory;
}

double group_cpus() {
  double cpus = std::numeric_limits<double>::max();
  walk_up("/sys/fs/cgroup", cgroup_path(""), [&](const std::string& directory) {
    const auto line = read_line(directory + "/cpu.max");
    if (!line) return;
    std::istringstream fields(*line);
    double quota = 0;
    double period = 0;
    if (fields >> quota >> period && quota > 0 && period > 0) cpus = std::min(cpus, quota / period);
  });
  walk_up("/sys/fs/cgroup/cpu", cgroup_path("cpu"), [&](const std::string& directory) {
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

HostMemory host_memory() {
  const GroupMemory group = group_memory();
  HostMemory memory;
  memory.limit_bytes = std::min(meminfo_bytes("MemTotal"), group.limit);
  memory.available_bytes = std::clamp<int64_t>(std::min(meminfo_bytes("MemAvailable"), group.left),
                                               0, memory.limit_bytes);
  return memory;
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * ::sysconf(_SC_PAGESIZE);
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

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string describe(const HostMemory& memory) {
  return fmt::format("host memory {:.1f}% ({} available)", memory.used_percent(),
                     format_bytes(memory.available_bytes));
}

}  // namespace encode
