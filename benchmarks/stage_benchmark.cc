// Measures the stages around the model: reading, tokenizing, packing and writing. The environment
// variable ENCODE_BENCHMARK_MODEL names a model directory, and ENCODE_BENCHMARK_ROWS names a JSONL
// file with a field `text`. A benchmark that needs a missing variable reports an error and does
// nothing.
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encode/store.h"
#include "encode/text.h"
#include "encode/tokenizer.h"

#include "batching/pack.h"
#include "store/matrix_file.h"
#include "support/temp_dir.h"
#include "tokenizer/passages.h"

namespace encode::testing {
namespace {

constexpr int64_t kBatchTokens = 512;
constexpr int64_t kMaxLength = 256;
constexpr int64_t kColumns = 384;

// Returns the value of a variable. If the variable is not set, marks the benchmark as failed and
// returns nullopt.
std::optional<std::string> variable(benchmark::State& state, const char* name) {
  const char* value = std::getenv(name);
  if (value != nullptr && *value != '\0') return value;
  state.SkipWithError(fmt::format("the environment variable {} is not set", name).c_str());
  return std::nullopt;
}

InputOptions rows_of(const std::string& path) {
  InputOptions options;
  options.path = path;
  options.field = "text";
  return options;
}

std::vector<std::string> texts_of(const std::string& path) {
  std::vector<std::string> texts;
  const auto reader = open_texts(rows_of(path));
  for (Text text; reader->next(text);) texts.push_back(text.utf8);
  return texts;
}

void read(benchmark::State& state) {
  const auto path = variable(state, "ENCODE_BENCHMARK_ROWS");
  if (!path) return;
  int64_t bytes = 0;
  for (auto _ : state) {
    const auto reader = open_texts(rows_of(*path));
    for (Text text; reader->next(text);) bytes += static_cast<int64_t>(text.utf8.size());
  }
  state.SetBytesProcessed(bytes);
}
BENCHMARK(read)->Unit(benchmark::kMillisecond);

struct TextsOfModel {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> texts;
};

// Returns nullopt, after variable() has said why, if a variable is missing.
std::optional<TextsOfModel> texts_of_model(benchmark::State& state) {
  const auto model = variable(state, "ENCODE_BENCHMARK_MODEL");
  const auto path = model ? variable(state, "ENCODE_BENCHMARK_ROWS") : std::nullopt;
  if (!path) return std::nullopt;
  return TextsOfModel{.tokenizer = load_tokenizer_from_directory(*model), .texts = texts_of(*path)};
}

TokenizedRows tokenized(const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  TokenizedRows rows;
  for (const std::string& text : texts)
    tokenizer.encode(text, {.max_length = kMaxLength, .add_special_tokens = true}, rows);
  return rows;
}

void tokenize(benchmark::State& state) {
  const auto input = texts_of_model(state);
  if (!input) return;
  int64_t tokens = 0;
  for (auto _ : state)
    tokens += static_cast<int64_t>(tokenized(*input->tokenizer, input->texts).ids.size());
  state.SetItemsProcessed(tokens);
}
BENCHMARK(tokenize)->Unit(benchmark::kMillisecond);

// Tokenizes the whole texts, as a measure for cut_passages.
void tokenize_whole(benchmark::State& state) {
  const auto input = texts_of_model(state);
  if (!input) return;
  int64_t tokens = 0;
  for (auto _ : state) {
    for (const std::string& text : input->texts) {
      TokenizedRows rows;
      input->tokenizer->encode(text, {.max_length = 0, .add_special_tokens = false}, rows);
      tokens += std::ssize(rows.ids);
    }
  }
  state.SetItemsProcessed(tokens);
}
BENCHMARK(tokenize_whole)->Unit(benchmark::kMillisecond);

// Cuts the texts into passages of kMaxLength tokens. The items are the tokens of the passages.
void cut_passages(benchmark::State& state) {
  const auto input = texts_of_model(state);
  if (!input) return;
  const PassageRule rule = {.max_tokens = kMaxLength,
                            .overlap = state.range(1),
                            .by = static_cast<PassageUnit>(state.range(0))};
  const PassageCutter cutter({.tokenizer = *input->tokenizer, .rule = rule, .prompt = ""},
                             "ENCODE_BENCHMARK_MODEL");
  int64_t tokens = 0;
  for (auto _ : state) {
    for (const std::string& text : input->texts)
      tokens += std::ssize(cutter.cut({.text = text}).sequences.ids);
  }
  state.SetItemsProcessed(tokens);
}
BENCHMARK(cut_passages)
    ->ArgNames({"by", "overlap"})
    ->ArgsProduct({{static_cast<int64_t>(PassageUnit::kSentence),
                    static_cast<int64_t>(PassageUnit::kParagraph),
                    static_cast<int64_t>(PassageUnit::kToken)},
                   {0, 32}})
    ->Unit(benchmark::kMillisecond);

// Times the packing of rows. The counter `fill` is the share of the token slots of all batches that
// hold tokens.
void pack_rows(benchmark::State& state) {
  const auto input = texts_of_model(state);
  if (!input) return;
  const TokenizedRows rows = tokenized(*input->tokenizer, input->texts);
  size_t batches = 0;
  for (auto _ : state) batches = pack({.ids = rows}, kBatchTokens).size();
  state.SetItemsProcessed(state.iterations() * rows.size());
  state.counters["fill"] =
      static_cast<double>(rows.ids.size()) / static_cast<double>(batches * kBatchTokens);
}
BENCHMARK(pack_rows)->Unit(benchmark::kMillisecond);

// Writes a chunk of `rows` rows, from the first byte to the last sync.
void write_npy(benchmark::State& state) {
  const TempDir dir;
  const int64_t rows = state.range(0);
  const std::vector<float> values(static_cast<size_t>(rows * kColumns), 0.5F);
  for (auto _ : state) {
    NpyWriter writer(dir.file("chunk.npy"), {.rows = {0, rows}, .columns = kColumns});
    writer.append(values);
    writer.publish();
  }
  state.SetBytesProcessed(state.iterations() * rows * kColumns *
                          static_cast<int64_t>(sizeof(float)));
}
BENCHMARK(write_npy)->Arg(100)->Arg(1000)->Arg(50000)->Unit(benchmark::kMillisecond);

// Commits the four chunks of a window, `state.range(0)` of them at a time.
void commit_window(benchmark::State& state) {
  constexpr int64_t kChunks = 4;
  constexpr int64_t kChunkRows = 1000;
  const int64_t together = state.range(0);
  const std::vector<float> values(static_cast<size_t>(kChunkRows * kColumns), 0.5F);
  for (auto _ : state) {
    state.PauseTiming();
    const TempDir dir;
    const auto store = ChunkStore::open(
        dir.file("cache"),
        {.name = "s", .fingerprint = "{}", .rows = kChunks * kChunkRows, .dim = kColumns},
        kChunkRows, ChunkStore::Open::kFresh);
    state.ResumeTiming();
    std::vector<WrittenChunk> chunks;
    for (int64_t index = 0; index < kChunks; ++index) {
      chunks.push_back({.writer = store->begin(index), .stats = {}, .origin = {.device = "cpu"}});
      chunks.back().writer->append(values);
      if (std::ssize(chunks) < together) continue;
      store->commit(chunks);
      chunks.clear();
    }
  }
}
BENCHMARK(commit_window)->Arg(1)->Arg(4)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace encode::testing
