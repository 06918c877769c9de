#include "bit_flips.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "encode/error.h"

#include "cache/disk_tier.h"
#include "cache/maintenance.h"
#include "known_rows.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr int64_t kDiskBytes = 100'000'000;
constexpr int64_t kShortRows = 240;
constexpr int64_t kShortDim = 4;
constexpr int64_t kLongRows = 3;
constexpr int64_t kLongDim = 1500;  // a block of two pages
constexpr size_t kPageBytes = 4096;
constexpr rlim_t kMemoryBytes = rlim_t{2} << 30;
constexpr auto kPatience = std::chrono::seconds(20);

int64_t dim_of(int64_t row) { return row < kShortRows ? kShortDim : kLongDim; }

std::vector<std::byte> block_of(int64_t row) {
  const std::vector<float> values = known_values(row, dim_of(row));
  const RecordFormat format = record_format(values);
  std::vector<std::byte> block(record_bytes(values.size(), format));
  write_record(block, {.key = known_key(row), .values = values}, format);
  return block;
}

void add_block(LmdbStore& store, int64_t row) {
  const std::vector<std::byte> block = block_of(row);
  LmdbStore::Writing writing(store);
  const uint64_t number = writing.add_block(block);
  writing.set_place(known_key(row),
                    {.block = number, .offset = 0, .bytes = static_cast<uint32_t>(block.size())});
  writing.set_use(number, 1'700'000'000 + row);
  writing.commit();
}

using Step = FlipStore::Step;
using Report = FlipStore::Report;
constexpr auto kSteps =
    std::to_array({Step::kStats, Step::kVerify, Step::kFind, Step::kAdd, Step::kPrune});
constexpr auto kStepNames = std::to_array<const char*>({"stats", "verify", "find", "add", "prune"});

void find_rows(const std::string& dir, Report& report) {
  EmbeddingCache cache({.dir = dir, .memory_bytes = 0, .disk_bytes = kDiskBytes});
  for (int64_t row = 0; row < kShortRows + kLongRows; ++row) {
    const Answer answer = ask(cache, row, dim_of(row));
    if (answer == Answer::kWrong) throw std::runtime_error(fmt::format("row {} is wrong", row));
    if (answer == Answer::kMissing) report.damaged = true;
  }
}

void add_row(const std::string& dir) {
  EmbeddingCache cache({.dir = dir, .memory_bytes = 0, .disk_bytes = kDiskBytes});
  for (const int64_t row : {int64_t{5}, int64_t{5000}}) {
    add_rows(cache, row, row + 1, kShortDim);
    if (ask(cache, row, kShortDim) == Answer::kWrong)
      throw std::runtime_error(fmt::format("row {} is wrong after it was added", row));
  }
}

void do_step(Step step, const std::string& dir, Report& report) {
  switch (step) {
    case Step::kStats:
      read_cache_content(dir);
      break;
    case Step::kVerify:
      if (audit_cache(dir).damaged()) report.damaged = true;
      break;
    case Step::kFind:
      find_rows(dir, report);
      break;
    case Step::kAdd:
      add_row(dir);
      break;
    case Step::kPrune:
      prune_cache(dir, 100'000);
      break;
  }
}

// Returns the error of the step, or "".
std::string error_of_step(Step step, const std::string& dir, Report& report) {
  try {
    do_step(step, dir, report);
  } catch (const Error& error) {
    if (error.detail().code == "cache.damaged" && error.exit_code() == ExitCode::kData) {
      report.damaged = true;
      return "";
    }
    return error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

// Waits for the child and returns its status. If it makes no progress, kills it and returns
// nullopt.
std::optional<int> wait_for(pid_t child, const FlipStore::Report& report) {
  int64_t seen = -1;
  auto since = std::chrono::steady_clock::now();
  int status = 0;
  bool hung = false;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    const auto now = std::chrono::steady_clock::now();
    if (report.next != seen) {
      seen = report.next;
      since = now;
    } else if (now - since > kPatience) {
      hung = true;
      ::kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return hung ? std::nullopt : std::optional(status);
}

}  // namespace

FlipStore::FlipStore(const std::string& dir) : dir_(dir) {
  const CacheFolder folder{.path = dir};
  prepare_folder(folder);
  {
    LmdbStore store(folder, kDiskBytes, LmdbStore::Access::kWrite);
    for (int64_t row = 0; row < kShortRows + kLongRows; ++row) add_block(store, row);
  }
  content_ = read_bytes(folder.data());
}

std::vector<int64_t> FlipStore::bits_of_headers() const {
  constexpr size_t kHeaderBytes = 16;
  constexpr size_t kMetaBytes = 152;  // the header and MDB_meta
  std::vector<int64_t> bits;
  for (size_t page = 0; page * kPageBytes < content_.size(); ++page) {
    const std::string_view bytes = std::string_view(content_).substr(page * kPageBytes, kPageBytes);
    uint64_t number = 0;
    uint16_t lower = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    std::memcpy(&lower, bytes.data() + 12, sizeof lower);
    size_t end = page < 2 ? kMetaBytes : kHeaderBytes;
    if (page >= 2 && number == page) end = std::clamp<size_t>(lower, kHeaderBytes, kPageBytes);
    for (size_t bit = 0; bit < end * 8; ++bit)
      bits.push_back(static_cast<int64_t>(page * kPageBytes * 8 + bit));
  }
  return bits;
}

std::vector<int64_t> FlipStore::bits_of_branches() const {
  constexpr uint16_t kBranch = 1;
  std::vector<int64_t> bits;
  for (size_t page = 2; page * kPageBytes < content_.size(); ++page) {
    uint64_t number = 0;
    uint16_t flags = 0;
    uint16_t upper = 0;
    std::memcpy(&number, content_.data() + page * kPageBytes, sizeof number);
    std::memcpy(&flags, content_.data() + page * kPageBytes + 10, sizeof flags);
    std::memcpy(&upper, content_.data() + page * kPageBytes + 14, sizeof upper);
    if (number != page || flags != kBranch) continue;
    for (size_t bit = size_t{upper} * 8; bit < kPageBytes * 8; ++bit)
      bits.push_back(static_cast<int64_t>(page * kPageBytes * 8 + bit));
  }
  return bits;
}

void FlipStore::restore(int64_t flipped) const {
  std::string content = content_;
  char& byte = content[static_cast<size_t>(flipped / 8)];
  byte = static_cast<char>(byte ^ (1 << (flipped % 8)));
  write_bytes(CacheFolder{.path = dir_}.data(), content);
}

// Flips one bit after the other, beginning with the bit at report.next, and uses the store after
// each flip. Then ends the process.
void FlipStore::work(const std::vector<int64_t>& bits, Report& report) const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit limit = {.rlim_cur = kMemoryBytes, .rlim_max = kMemoryBytes};
  ::setrlimit(RLIMIT_AS, &limit);
  const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  while (report.next < std::ssize(bits)) {
    const int64_t bit = bits[static_cast<size_t>(report.next++)];
    report.damaged = false;
    for (const Step step : kSteps) {
      report.step = step;
      restore(bit);
      const std::string error = error_of_step(step, dir_, report);
      if (error.empty()) continue;
      fmt::format_to_n(report.failure.data(), report.failure.size() - 1, "bit {}, {}: {}", bit,
                       kStepNames[static_cast<size_t>(step)], error);
      ::_exit(2);
    }
    ++report.flips;
    ++(report.damaged ? report.damages : report.unnoticed);
  }
  ::_exit(0);
}

FlipCounts FlipStore::flip(const std::vector<int64_t>& bits) const {
  void* const memory =
      ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Report& report = *new (memory) Report();
  FlipCounts counts;
  while (report.next < std::ssize(bits)) {
    const pid_t child = ::fork();
    if (child == 0) work(bits, report);
    const std::optional<int> status = wait_for(child, report);
    if (status == 0) break;
    ++report.flips;
    const std::string where = fmt::format("bit {}, {}", bits[static_cast<size_t>(report.next - 1)],
                                          kStepNames[static_cast<size_t>(report.step.load())]);
    if (!status) {
      counts.failures.push_back(where + ": it does not end");
    } else if (WIFEXITED(*status)) {
      counts.failures.emplace_back(report.failure.data());
    } else if (report.step == Step::kFind ||
               (report.step == Step::kAdd && WTERMSIG(*status) == SIGABRT)) {
      ++counts.died;
    } else {
      counts.failures.push_back(fmt::format("{}: signal {}", where, WTERMSIG(*status)));
    }
  }
  counts.flips = report.flips;
  counts.unnoticed = report.unnoticed;
  counts.damaged = report.damages;
  ::munmap(memory, sizeof(Report));
  return counts;
}

}  // namespace encode::testing
