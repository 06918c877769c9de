// Measures the search of a whole matrix of 384 columns, and beside it a plain sum over the mapped
// file, which reads the same bytes. The environment variable ENCODE_BENCHMARK_SEARCH_ROWS is the
// number of rows; a million rows of float32 take 1.5 GB in the temporary directory. Without the
// variable a benchmark reports an error and does nothing.
#include <algorithm>
#include <array>
#include <atomic>
#include <benchmark/benchmark.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "encode/store.h"

#include "base/host.h"
#include "base/output_types.h"
#include "base/thread_pool.h"
#include "search/nearest_rows.h"
#include "store/matrix/matrix.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr int64_t kColumns = 384;
constexpr int64_t kTop = 10;

std::vector<float> random_rows(int64_t rows) {
  static std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(rows * kColumns));
  for (float& value : values) value = normal(random);
  return values;
}

int64_t asked_rows() {
  const char* value = std::getenv("ENCODE_BENCHMARK_SEARCH_ROWS");
  return value == nullptr ? 0 : std::atoll(value);
}

// The matrices of the process, each made when it is needed for the first time.
class Files {
 public:
  std::unique_ptr<Matrix> open(OutputType type) {
    const std::string path = dir_.file(std::string(to_string(type)) + ".npy");
    const std::string float32 = dir_.file("float32.npy");
    if (!made_[static_cast<size_t>(OutputType::kFloat32)]) write(float32);
    made_[static_cast<size_t>(OutputType::kFloat32)] = true;
    if (!made_[static_cast<size_t>(type)])
      reformat_final(float32, path, {.type = type, .ranges_file = ""}, {});
    made_[static_cast<size_t>(type)] = true;
    return open_matrix(path);
  }

 private:
  // The rows repeat, because their values do not change the time.
  static void write(const std::string& path) {
    constexpr int64_t kBlock = 10'000;
    const int64_t rows = asked_rows();
    const auto writer = begin_final(
        path, {.name = "rows", .fingerprint = R"({"seed":1})", .rows = rows, .dim = kColumns});
    const std::vector<float> block = random_rows(kBlock);
    for (int64_t row = 0; row < rows; row += kBlock) {
      const int64_t count = std::min(kBlock, rows - row);
      writer->append(std::span(block).first(static_cast<size_t>(count * kColumns)));
    }
    writer->publish({}, {.device = "cpu"});
  }

  TempDir dir_;
  std::array<bool, kOutputTypes.size()> made_ = {};
};

std::unique_ptr<Matrix> open(benchmark::State& state, OutputType type) {
  static Files files;
  if (asked_rows() > 0) return files.open(type);
  state.SkipWithError("the environment variable ENCODE_BENCHMARK_SEARCH_ROWS is not set");
  return nullptr;
}

void search_rows(benchmark::State& state) {
  const auto type = static_cast<OutputType>(state.range(0));
  const std::unique_ptr<Matrix> matrix = open(state, type);
  if (!matrix) return;
  ThreadPool pool(cpu_quota(), [] {});
  const std::vector<float> queries = random_rows(state.range(1));
  const RowScorer scorer(*matrix, Similarity::kCosine, queries);
  for (auto _ : state)
    benchmark::DoNotOptimize(
        nearest_rows(*matrix, scorer, {.count = kTop}, pool).front().front().row);
  state.SetBytesProcessed(state.iterations() * matrix->rows() * matrix->row_bytes());
  state.SetLabel(std::string(to_string(type)));
}

// Adds the 64-bit words of a part of the file, in as many sums as hide the latency of an addition.
uint64_t sum_of_words(std::span<const std::byte> bytes) {
  constexpr size_t kSums = 32;
  uint64_t sums[kSums] = {};
  for (size_t at = 0; at + sizeof sums <= bytes.size(); at += sizeof sums) {
    uint64_t words[kSums];
    std::memcpy(words, bytes.data() + at, sizeof words);
    for (size_t i = 0; i < kSums; ++i) sums[i] += words[i];
  }
  uint64_t sum = 0;
  for (const uint64_t part : sums) sum += part;
  return sum;
}

void sum_of_the_file(benchmark::State& state) {
  const auto type = static_cast<OutputType>(state.range(0));
  const std::unique_ptr<Matrix> matrix = open(state, type);
  if (!matrix) return;
  ThreadPool pool(cpu_quota(), [] {});
  const int64_t block = std::max<int64_t>(1, (int64_t{256} << 10) / matrix->row_bytes());
  std::atomic<uint64_t> total = 0;
  for (auto _ : state) {
    std::atomic<int64_t> next = 0;
    pool.run(pool.threads(), [&](int64_t /*thread*/) {
      MatrixBuffer buffer;
      for (int64_t row = next.fetch_add(block); row < matrix->rows(); row = next.fetch_add(block))
        total += sum_of_words(matrix->stored({row, std::min(row + block, matrix->rows())}, buffer));
    });
  }
  benchmark::DoNotOptimize(total.load());
  state.SetBytesProcessed(state.iterations() * matrix->rows() * matrix->row_bytes());
  state.SetLabel(std::string(to_string(type)));
}

const std::vector<int64_t> kTypes = {
    static_cast<int64_t>(OutputType::kFloat32), static_cast<int64_t>(OutputType::kFloat16),
    static_cast<int64_t>(OutputType::kInt8), static_cast<int64_t>(OutputType::kUbinary)};

BENCHMARK(sum_of_the_file)->ArgsProduct({kTypes})->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(search_rows)
    ->ArgsProduct({kTypes, {1, 32}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace encode::testing
