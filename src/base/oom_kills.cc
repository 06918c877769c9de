#include "base/oom_kills.h"

#include "base/cgroup.h"

namespace encode {

std::optional<OomKills> oom_kills(const std::string& root) {
  std::optional<OomKills> found;
  const auto take = [&](const std::string& path, bool whole_machine) {
    if (found) return;
    if (const auto count = read_keyed_integer(path, "oom_kill"))
      found = {.count = *count, .source = path, .whole_machine = whole_machine};
  };
  visit_cgroups(root, "", [&](const std::string& directory) {
    take(directory + "/memory.events", /*whole_machine=*/false);
  });
  visit_cgroups(root, "memory", [&](const std::string& directory) {
    take(directory + "/memory.oom_control", /*whole_machine=*/false);
  });
  take(root + "/proc/vmstat", /*whole_machine=*/true);
  return found;
}

}  // namespace encode
