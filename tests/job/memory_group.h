// A control group with a memory limit, for tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "base/cgroup.h"

namespace encode::testing {

inline bool write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// A control group with a memory limit. While the object exists, this process and the programs that
// it starts are in the group.
class MemoryGroup {
 public:
  explicit MemoryGroup(int64_t limit_bytes) {
    for (const std::string controller : {"memory", ""}) {
      std::string parent;
      visit_cgroups("", controller, [&](const std::string& directory) {
        if (parent.empty() && std::filesystem::exists(directory + "/cgroup.procs"))
          parent = directory;
      });
      if (parent.empty() || !enter(parent, controller, limit_bytes)) continue;
      return;
    }
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  ~MemoryGroup() {
    if (group_.empty()) return;
    write_text(parent_ + "/cgroup.procs", "0");
    for (int i = 0; i < 100 && ::rmdir(group_.c_str()) != 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  bool exists() const { return !group_.empty(); }

 private:
  bool enter(const std::string& parent, const std::string& controller, int64_t limit_bytes) {
    const std::string group = fmt::format("{}/encode_test_{}", parent, ::getpid());
    std::error_code error;
    if (!std::filesystem::create_directory(group, error)) return false;
    const char* const limit = controller.empty() ? "memory.max" : "memory.limit_in_bytes";
    const bool entered = std::filesystem::exists(group + "/" + limit) &&
                         write_text(group + "/" + limit, fmt::to_string(limit_bytes)) &&
                         write_text(group + "/cgroup.procs", "0");
    if (!entered) {
      ::rmdir(group.c_str());
      return false;
    }
    parent_ = parent;
    group_ = group;
    return true;
  }

  std::string parent_;
  std::string group_;
};

}  // namespace encode::testing
