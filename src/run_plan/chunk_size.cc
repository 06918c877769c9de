#include "run_plan/chunk_size.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/file.h"
#include "base/host.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "run_plan/fit_check.h"
#include "run_plan/memory/chunk_rows.h"
#include "run_plan/memory/compute_rate.h"
#include "store/run_files.h"

namespace encode {
namespace {

// A guess for a card that is not in the table of cards. It decides only the size of chunks.
constexpr double kUnknownGpuFlops = 40e12;

// A rough estimate of how fast a stream is encoded.
struct Speed {
  MemoryRequest request;
  double row_seconds = 0;
  std::string device;
};

ComputeRate rate_of(const MemoryLimit& gpu, const EffectiveResult& effective) {
  ComputeRate rate = assumed_gpu_rate(find_card(gpu.name), effective);
  if (rate.flops_per_second > 0) return rate;
  return {.flops_per_second = kUnknownGpuFlops,
          .least_flops = kUnknownGpuFlops,
          .most_flops = kUnknownGpuFlops};
}

Speed speed_of(const StreamPlan& stream, const ModelDirectory& directory,
               const std::optional<MemoryLimit>& gpu) {
  const int64_t threads = threads_or_quota(stream.config.speed.threads);
  Speed speed = {.request = planned_request(
                     stream, directory,
                     {.kind = gpu ? DeviceKind::kCuda : DeviceKind::kCpu, .threads = threads}),
                 .row_seconds = 0,
                 .device = gpu ? gpu->name : format_count(threads, "CPU thread", "CPU threads")};
  const EffectiveResult& effective = stream.effective;
  const ComputeRate rate =
      gpu ? rate_of(*gpu, effective) : assumed_cpu_rate(effective.dtype, threads);
  speed.row_seconds = encoding_time(speed.request, rate).seconds /
                      static_cast<double>(std::max<int64_t>(1, speed.request.texts.rows));
  return speed;
}

}  // namespace

// A commit syncs a chunk and a line of the log, so a probe writes two files.
double ChunkSizes::commit_seconds() {
  if (commit_seconds_) return *commit_seconds_;
  constexpr size_t kProbes = 3;
  const std::string path = RunFiles(config_.store.cache_dir).commit_probe();
  std::array<double, kProbes> seconds = {};
  for (double& probe : seconds) {
    const Stopwatch watch;
    for (int file = 0; file < 2; ++file) write_file_durably(path, kCommitProbeText);
    probe = watch.seconds();
  }
  remove_file(path);
  std::sort(seconds.begin(), seconds.end());
  commit_seconds_ = seconds[kProbes / 2];
  return *commit_seconds_;
}

void ChunkSizes::choose(const ModelDirectory& directory, StreamPlan& stream) {
  if (config_.store.chunk_size != kAutoChunkRows || !config_.store.chunked()) return;
  choose_for_shard(directory, stream.scan.rows, stream);
}

void ChunkSizes::choose_for_shard(const ModelDirectory& directory, int64_t rows,
                                  StreamPlan& stream) {
  const Speed speed = speed_of(stream, directory, gpu_.get());
  const TextFacts& texts = speed.request.texts;
  stream.chunk_rows = auto_chunk_rows(
      {.rows = rows, .row_seconds = speed.row_seconds, .commit_seconds = commit_seconds()});
  stream.chunk_reason = fmt::format(
      "chunk_size auto: about {} of work in a chunk, for rows of about {:.0f} tokens on {}; a "
      "commit takes {}",
      format_duration(speed.row_seconds * static_cast<double>(stream.chunk_rows)),
      static_cast<double>(texts.tokens) / static_cast<double>(std::max<int64_t>(1, texts.rows)),
      speed.device, format_duration(commit_seconds()));
}

std::string describe_loss(const StreamPlan& stream, const ModelDirectory& directory, RunGpu& gpu) {
  const Speed speed = speed_of(stream, directory, gpu.get());
  const int64_t rows = most_lost_rows(speed.request);
  return fmt::format("{} on {}", describe_loss(rows, speed.row_seconds * static_cast<double>(rows)),
                     speed.device);
}

}  // namespace encode
