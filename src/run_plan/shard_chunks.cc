#include "run_plan/shard_chunks.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "encode/model_directory.h"

#include "base/units.h"
#include "run_plan/chunk_size.h"
#include "run_plan/fit_check.h"
#include "run_plan/memory/cards.h"
#include "run_plan/run_devices.h"

namespace encode {
namespace {

// Returns the GPU on which the shards will be encoded; nullopt if it is a CPU.
std::optional<MemoryLimit> target_gpu(const HardwareOptions& hardware, const std::string& gpu) {
  if (!gpu.empty()) {
    const GpuCard& card = require_card(gpu);
    return MemoryLimit{.kind = DeviceKind::kCuda,
                       .name = std::string(card.name),
                       .total_bytes = card.memory_bytes(),
                       .free_bytes = card.memory_bytes()};
  }
  const DeviceChoice::Kind wanted = devices_of(hardware).front().kind;
  if (wanted == DeviceChoice::Kind::kCpu) return std::nullopt;
  std::optional<MemoryLimit> here = gpu_of(hardware);
  if (here || wanted == DeviceChoice::Kind::kAuto) return here;
  return MemoryLimit{.kind = DeviceKind::kCuda, .name = "a GPU"};
}

}  // namespace

void choose_shard_chunks(const ShardDevice& device, const std::vector<StreamPlan>& streams,
                         ShardPlan& plan, RunLog& log) {
  const RunConfig& config = device.config;
  if (config.store.chunk_size > 0) return;
  RunGpu target(config.hardware, target_gpu(config.hardware, device.gpu));
  ChunkSizes sizes(config, target);
  for (size_t i = 0; i < streams.size(); ++i) {
    StreamPlan stream = streams[i];
    const ModelDirectory directory = open_model_directory(
        stream.model_path, custom_code_policy(stream.config.result.ignore_custom_code));
    const int64_t rows = (stream.scan.rows + plan.shards - 1) / plan.shards;
    sizes.choose_for_shard(directory, std::max<int64_t>(1, rows), stream);
    plan.streams[i].chunk_rows = stream.chunk_rows;
    log.info("shard_chunks",
             fmt::format("{}: chunks of {}; {}", stream.config.name(),
                         format_count(stream.chunk_rows, "row", "rows"), stream.chunk_reason),
             {{"stream", stream.config.name()}, {"chunk_rows", stream.chunk_rows}});
  }
}

}  // namespace encode
