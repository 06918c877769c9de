// Puts load on a cache on disk. Usage:
//   cache_load fill DIR BEGIN END DIM DISK_BYTES   adds known rows, and prints the rate
//   cache_load check DIR BEGIN END DIM             asks for each row; exits with 1 if one is wrong
//   cache_load look DIR ROWS DIM LOOKUPS           random lookups on one core, on disk only
//   cache_load hold DIR                            stops itself (SIGSTOP) in the middle of a change
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "encode/error.h"

#include "known_rows.h"

namespace {

using namespace encode;
using namespace encode::testing;

constexpr int64_t kBatchRows = 4096;
constexpr int64_t kHugeBytes = int64_t{100} << 30;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int fill(EmbeddingCache& cache, int64_t begin, int64_t end, int64_t dim) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t row = begin; row < end; row += kBatchRows)
    add_rows(cache, row, std::min(end, row + kBatchRows), dim);
  std::printf("%.0f rows/s written\n", static_cast<double>(end - begin) / seconds_since(start));
  return 0;
}

int check(EmbeddingCache& cache, int64_t begin, int64_t end, int64_t dim) {
  int64_t found = 0;
  int64_t wrong = 0;
  for (int64_t row = begin; row < end; ++row) {
    const Answer answer = ask(cache, row, dim);
    found += answer == Answer::kMissing ? 0 : 1;
    wrong += answer == Answer::kWrong ? 1 : 0;
  }
  const CacheCounts counts = cache.take_counts();
  std::printf("%ld found, %ld wrong, %ld damaged\n", found, wrong, counts.damaged_rows);
  return wrong > 0 ? 1 : 0;
}

int look(EmbeddingCache& cache, int64_t rows, int64_t dim, int64_t lookups) {
  std::mt19937_64 random(7);
  std::vector<float> values(static_cast<size_t>(kBatchRows * dim));
  double seconds = 0;
  double cpu_seconds = 0;
  int64_t found = 0;
  lookups = lookups / kBatchRows * kBatchRows;
  for (int64_t done = 0; done < lookups; done += kBatchRows) {
    std::vector<CacheRequest> requests;
    for (int64_t i = 0; i < kBatchRows; ++i) {
      const auto row = static_cast<int64_t>(random() % static_cast<uint64_t>(rows));
      requests.push_back({.key = known_key(row),
                          .values = std::span(values).subspan(static_cast<size_t>(i * dim),
                                                              static_cast<size_t>(dim))});
    }
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    cache.find(requests);
    cpu_seconds += static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    seconds += seconds_since(start);
    for (const CacheRequest& request : requests) found += request.found ? 1 : 0;
  }
  const auto count = static_cast<double>(lookups);
  std::printf("%.0f lookups/s, %.0f per CPU second, %ld of %ld found\n", count / seconds,
              count / cpu_seconds, found, lookups);
  return 0;
}

int hold(const std::string& dir) {
  LmdbStore store({.path = dir}, 0, LmdbStore::Access::kWrite);
  LmdbStore::Writing writing(store);
  std::puts("held");
  std::fflush(stdout);
  std::raise(SIGSTOP);
  return 0;
}

int run(const std::vector<std::string>& words) {
  if (words.at(0) == "hold") return hold(words.at(1));
  const auto number = [&words](size_t i) { return std::stoll(words.at(i)); };
  const std::string& mode = words.at(0);
  const auto start = std::chrono::steady_clock::now();
  EmbeddingCache cache({.dir = words.at(1),
                        .memory_bytes = 0,
                        .disk_bytes = mode == "fill" ? number(5) : kHugeBytes});
  std::printf("opened in %.3f s\n", seconds_since(start));
  if (mode == "fill") return fill(cache, number(2), number(3), number(4));
  if (mode == "check") return check(cache, number(2), number(3), number(4));
  return look(cache, number(2), number(3), number(4));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
