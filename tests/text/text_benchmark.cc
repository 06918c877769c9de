// Measures how fast files are scanned and read, in bytes per second. This is a program
// (build/bin/text_benchmark) and not a test. It can also measure files of the user, in rows per
// second: text_benchmark --benchmark_filter=file PATH FIELD
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "encode/text.h"

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr size_t kFileBytes = size_t{256} << 20;

std::string record(std::string_view format, size_t row, size_t text_bytes) {
  std::string text;
  while (text.size() < text_bytes)
    text += fmt::format("def test_{}(self): assert f(x) == y; ", row);
  text.resize(text_bytes);
  if (format == "jsonl")
    return fmt::format(R"({{"id": {}, "name": "n", "text": "{}\n"}})", row, text) + "\n";
  if (format == "csv") return fmt::format("{},n,\"{}\n\"\n", row, text);
  return text + "\n";
}

std::string content(const std::string& format, size_t text_bytes) {
  std::string bytes = format == "csv" ? "id,name,text\n" : "";
  bytes.reserve(kFileBytes + (size_t{1} << 20));
  for (size_t row = 0; bytes.size() < kFileBytes; ++row) bytes += record(format, row, text_bytes);
  return bytes;
}

InputOptions file(const TempDir& dir, const std::string& format, size_t text_bytes) {
  InputOptions options;
  options.path = dir.write("in." + format, content(format, text_bytes));
  if (format != "txt") options.field = "text";
  return options;
}

void scan(benchmark::State& state, const std::string& format) {
  const TempDir dir;
  const InputOptions options = file(dir, format, static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(scan_texts(options, {}).rows);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kFileBytes));
}

void read(benchmark::State& state, const std::string& format) {
  const TempDir dir;
  const InputOptions options = file(dir, format, static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    const auto reader = open_texts(options);
    for (Text text; reader->next(text);) benchmark::DoNotOptimize(text.utf8.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kFileBytes));
}

BENCHMARK_CAPTURE(scan, txt, "txt")->Arg(80)->Arg(600)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scan, jsonl, "jsonl")->Arg(80)->Arg(600)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scan, csv, "csv")->Arg(80)->Arg(600)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, txt, "txt")->Arg(80)->Arg(600)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, jsonl, "jsonl")->Arg(80)->Arg(600)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, csv, "csv")->Arg(80)->Arg(600)->Unit(benchmark::kMillisecond);

void scan_file(benchmark::State& state, const InputOptions& options) {
  for (auto _ : state)
    state.SetItemsProcessed(state.items_processed() + scan_texts(options, {}).rows);
}

void read_file_again(benchmark::State& state, const InputOptions& options) {
  const InputScan scan = scan_texts(options, {});
  for (auto _ : state) {
    const auto reader = open_scanned_texts(options, scan);
    for (Text text; reader->next(text);) benchmark::DoNotOptimize(text.utf8.data());
    state.SetItemsProcessed(state.items_processed() + scan.rows);
  }
}

void add_file(const std::string& path, const std::string& field) {
  InputOptions options;
  options.path = path;
  options.field = field;
  benchmark::RegisterBenchmark("file/scan", scan_file, options)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("file/read", read_file_again, options)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace encode::testing

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc == 3) encode::testing::add_file(argv[1], argv[2]);
  benchmark::RunSpecifiedBenchmarks();
}
