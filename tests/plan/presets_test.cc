// Makes docs/gpu-presets.md, the ready answers for usual cards and models, and tests that the file
// in docs is this page. With ENCODE_REFRESH=1 it writes the page.
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/units.h"
#include "run_plan/memory/planned_batch.h"
#include "run_plan/memory/profiles.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

// The fields of config.json that the memory depends on, as the authors of each model published
// them, and the length in tokens to which it cuts rows.
struct PresetModel {
  std::string_view name;
  std::string_view config_json;
  int64_t max_length;
};

constexpr auto kModels = std::to_array<PresetModel>({
    {"all-MiniLM-L6-v2",
     R"({"model_type":"bert","hidden_size":384,"num_hidden_layers":6,"num_attention_heads":12,
         "intermediate_size":1536,"vocab_size":30522,"max_position_embeddings":512,
         "type_vocab_size":2})",
     256},
    {"bge-base-en-v1.5",
     R"({"model_type":"bert","hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,
         "intermediate_size":3072,"vocab_size":30522,"max_position_embeddings":512,
         "type_vocab_size":2})",
     512},
    {"bge-large-en-v1.5",
     R"({"model_type":"bert","hidden_size":1024,"num_hidden_layers":24,"num_attention_heads":16,
         "intermediate_size":4096,"vocab_size":30522,"max_position_embeddings":512,
         "type_vocab_size":2})",
     512},
    {"gte-Qwen2-1.5B-instruct",
     R"({"model_type":"qwen2","hidden_size":1536,"num_hidden_layers":28,"num_attention_heads":12,
         "num_key_value_heads":2,"intermediate_size":8960,"vocab_size":151646,
         "max_position_embeddings":131072})",
     512},
    {"Qwen3-Embedding-0.6B",
     R"({"model_type":"qwen3","hidden_size":1024,"num_hidden_layers":28,"num_attention_heads":16,
         "num_key_value_heads":8,"head_dim":128,"intermediate_size":3072,"vocab_size":151669,
         "max_position_embeddings":32768})",
     512},
});

constexpr auto kCardGigabytes = std::to_array<int64_t>({16, 24, 32, 40, 48, 80, 141});

MemoryRequest request_of(const PresetModel& model) {
  MemoryRequest request;
  request.shape = shape_of_config(std::string(model.config_json), std::string(model.name));
  request.effective.pooling = {PoolingMode::kMean};
  request.effective.dtype = ComputeType::kBFloat16;
  request.effective.max_length = model.max_length;
  request.effective.dim = request.shape.hidden_size;
  request.effective.launch_tokens = launch_tokens(request.shape.hidden_size);
  request.batches.launch_tokens = request.effective.launch_tokens;
  return request;
}

std::string row(const PresetModel& model, int64_t gigabytes) {
  // A card of "24 GB" shows about 24 x 10^9 bytes as its memory, or a little more.
  constexpr int64_t kGigabyte = 1'000'000'000;
  const int64_t total = gigabytes * kGigabyte;
  const PlannedBatch planned = plan_batch(
      request_of(model), {.kind = DeviceKind::kCuda, .free_bytes = total, .total_bytes = total});
  if (planned.limit == BatchLimit::kNothingFits)
    return fmt::format("| {} GB | does not fit | | | | |\n", gigabytes);
  const MemoryEstimate& memory = planned.memory;
  const int64_t weights =
      memory.bytes_of(MemoryKind::kWeights) + memory.bytes_of(MemoryKind::kTables);
  const int64_t batch = memory.total_bytes() - weights - memory.bytes_of(MemoryKind::kContext);
  return fmt::format("| {} GB | {} | {} | {} | {} | {:.1f} % |\n", gigabytes,
                     format_count(planned.batches.budget_tokens), format_count(planned.batch_size),
                     format_bytes(weights), format_bytes(batch), 100 * planned.share);
}

// Returns the page. The figures follow from the memory model alone, so the page is the same on
// every machine.
std::string gpu_presets_page() {
  std::string page = fmt::format(
      R"(# Ready settings for usual GPUs

`encode plan` finds the settings for your card and your texts. This page has its answers for an idle card, dtype bfloat16, rows of
the model's longest length, and a safety margin of {} ([planning.md](planning.md) explains the columns). The tool wrote this page:
`ENCODE_REFRESH=1 build/bin/plan_test --gtest_filter='GpuPresets.*'` writes it again. The figures are estimates; no GPU has measured
them yet.

The largest batch is rarely the fastest one by much: from about 16,384 tokens on, a larger batch only saves launches. A smaller
`batch_tokens` leaves room for other programs. A window has about 4,096 rows, so rows fill a batch only up to about this `batch_size`;
`encode plan` takes this into account for your texts.
)",
      kSafetyMargin);
  for (const PresetModel& model : kModels) {
    page += fmt::format("\n## {}, rows of {} tokens\n\n", model.name, model.max_length);
    page += "| card | `batch_tokens` | `batch_size` | weights | batch | share of the card |\n";
    page += "|---|---|---|---|---|---|\n";
    for (const int64_t gigabytes : kCardGigabytes) page += row(model, gigabytes);
  }
  return page;
}

TEST(GpuPresets, ThePageIsWhatTheToolMakes) {
  const std::string path = testing::source_file("docs/gpu-presets.md");
  if (std::getenv("ENCODE_REFRESH") != nullptr) write_bytes(path, gpu_presets_page());
  EXPECT_TRUE(read_bytes(path) == gpu_presets_page())
      << "run plan_test with ENCODE_REFRESH=1 and commit " << path;
}

}  // namespace
}  // namespace encode::testing
