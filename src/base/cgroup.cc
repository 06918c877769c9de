#include "base/cgroup.h"

#include <charconv>
#include <fmt/format.h>
#include <fstream>
#include <string_view>

namespace encode {
namespace {

std::optional<int64_t> integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns the path of this process's group in the hierarchy of the controller.
std::string group_path(const std::string& root, const std::string& controller) {
  std::ifstream file(root + "/proc/self/cgroup");
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

// Returns the place at which the hierarchy of the controller is mounted.
std::string mount_of(const std::string& root, const std::string& controller) {
  const std::string mount = root + "/sys/fs/cgroup";
  if (!controller.empty()) return mount + "/" + controller;
  // On a hybrid system, v1 has the usual place and v2 is below it.
  const auto is_v2 = [](const std::string& path) {
    return std::ifstream(path + "/cgroup.controllers").good();
  };
  return !is_v2(mount) && is_v2(mount + "/unified") ? mount + "/unified" : mount;
}

}  // namespace

void visit_cgroups(const std::string& root, const std::string& controller,
                   const std::function<void(const std::string& directory)>& visit) {
  const std::string mount = mount_of(root, controller);
  std::string group = group_path(root, controller);
  while (true) {
    visit(mount + (group == "/" ? "" : group));
    if (group.empty() || group == "/") return;
    group.erase(group.rfind('/'));
    if (group.empty()) group = "/";
  }
}

std::optional<std::string> read_first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::string boot_id() { return read_first_line("/proc/sys/kernel/random/boot_id").value_or(""); }

std::optional<int64_t> read_integer(const std::string& path) {
  const auto line = read_first_line(path);
  return line ? integer(*line) : std::nullopt;
}

std::optional<int64_t> read_keyed_integer(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + " ")) return integer(line.substr(key.size() + 1));
  }
  return std::nullopt;
}

}  // namespace encode
