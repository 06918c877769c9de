// Flips bits of the file of a small embedding cache, and then uses the cache as runs and the
// commands of `encode cache` do.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace encode::testing {

// The consequences of the flips. A flip of a bit that nothing reads stays unnoticed.
struct FlipCounts {
  int64_t flips = 0;
  int64_t unnoticed = 0;
  int64_t damaged = 0;  // at least one step has ended with "cache.damaged", or missed rows
  // The flips after which a process that reads and adds rows, as a run does, died of an assertion
  // of LMDB or of a wrong access, because LMDB's pages are not checked when rows are read. (A run
  // then starts another worker.)
  int64_t died = 0;
  // What must not happen: a wrong row, another error, the death of a command, a wrong access while
  // rows are added, a step that does not end or that takes more and more memory.
  std::vector<std::string> failures;
};

// A store of several hundred rows in the folder `dir`. It has short and long blocks, branch pages
// in each table, and free pages. The folder should be in memory, because each flip writes the
// store.
class FlipStore {
 public:
  explicit FlipStore(const std::string& dir);

  int64_t bits() const { return static_cast<int64_t>(content_.size()) * 8; }
  // The bits of the meta pages, and of the headers and the lists of nodes of all other pages.
  std::vector<int64_t> bits_of_headers() const;
  // The bits of the nodes of branch pages.
  std::vector<int64_t> bits_of_branches() const;

  // Flips each of the bits, one at a time. Needs a process without other threads.
  FlipCounts flip(const std::vector<int64_t>& bits) const;

  enum class Step { kStats, kVerify, kFind, kAdd, kPrune };
  // Shared memory in which the process that uses the flipped file reports to the process that
  // watches it.
  struct Report {
    std::atomic<int64_t> next;  // the place of the bit in the list
    std::atomic<Step> step;
    std::atomic<bool> damaged;
    std::atomic<int64_t> flips;
    std::atomic<int64_t> unnoticed;
    std::atomic<int64_t> damages;
    std::array<char, 400> failure;
  };

 private:
  void restore(int64_t flipped) const;
  void work(const std::vector<int64_t>& bits, Report& report) const;

  const std::string dir_;
  std::string content_;
};

}  // namespace encode::testing
