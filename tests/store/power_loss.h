// Simulates power loss on a disk that keeps only what was synced. A WriteList records the changes
// of a run (fault.h), and writes what a disk may hold if the power fails after some of them: each
// change that was not synced is kept or lost, or its bytes are cut or replaced by other bytes. So
// the simulated disk may reorder and lose more than any real file system does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "store/fault.h"

namespace encode::testing {

// Not thread-safe.
class WriteList {
 public:
  // Records the changes below `root`, an absolute path.
  explicit WriteList(std::string root) : root_(std::move(root)) {}

  void add(const Change& change);
  size_t size() const { return changes_.size(); }

  // Forgets the syncs of the paths (relative to the root) for which `lost` is true, as if the
  // program had not made them.
  void lose_syncs(const std::function<bool(const std::string& path)>& lost);

  // Writes into the folder `to` what a disk may hold after the first `count` changes. `seed`
  // decides which changes that were not synced are kept, lost, cut or replaced.
  void write_disk(size_t count, uint32_t seed, const std::string& to) const;

 private:
  struct Item {
    Change::Kind kind;
    std::string path;  // relative to the root; "" is the root
    std::string new_path;
    int64_t file = 0;  // one number for each file, also after a rename
    int64_t offset = 0;
    std::string bytes;
    int64_t size = 0;
  };

  std::string relative(std::string_view path) const;
  int64_t file_of(const Change& change, const std::string& path);

  const std::string root_;
  std::vector<Item> changes_;
  std::map<std::string, int64_t> names_;  // the files as the program sees them
  std::map<ino_t, int64_t> files_;
  int64_t file_count_ = 0;
};

}  // namespace encode::testing
