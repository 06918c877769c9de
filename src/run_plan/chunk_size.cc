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

// For a card that is not in the table of cards.
constexpr double kUnknownGpuFlops = 40e12;

struct Speed {
  double row_seconds = 0;
  std::string device;
};

Speed speed_on_gpu(const MemoryRequest& request, const MemoryLimit& gpu) {
  ComputeRate rate = assumed_gpu_rate(find_card(gpu.name), request.effective);
  if (rate.flops_per_second <= 0)
    rate = {.flops_per_second = kUnknownGpuFlops,
            .least_flops = kUnknownGpuFlops,
            .most_flops = kUnknownGpuFlops};
  return {.row_seconds = encoding_time(request, rate).seconds, .device = gpu.name};
}

Speed speed_on_cpu(const MemoryRequest& request, int64_t threads) {
  return {.row_seconds =
              encoding_time(request, assumed_cpu_rate(request.effective.dtype, threads)).seconds,
          .device = fmt::format("{} CPU threads", threads)};
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
  const StoreOptions& store = config_.store;
  if (store.chunk_size != kAutoChunkRows || !store.chunked()) {
    stream.chunk_rows = store.chunk_rows();
    return;
  }
  const std::optional<MemoryLimit>& gpu = gpu_.get();
  const int64_t threads = threads_or_quota(stream.config.speed.threads);
  const MemoryRequest request = planned_request(
      stream, directory, {.kind = gpu ? DeviceKind::kCuda : DeviceKind::kCpu, .threads = threads});
  Speed speed = gpu ? speed_on_gpu(request, *gpu) : speed_on_cpu(request, threads);
  const auto rows = static_cast<double>(std::max<int64_t>(1, request.texts.rows));
  speed.row_seconds /= rows;
  stream.chunk_rows = auto_chunk_rows({.rows = request.texts.rows,
                                       .row_seconds = speed.row_seconds,
                                       .commit_seconds = commit_seconds()});
  stream.chunk_reason = fmt::format(
      "chunk_size auto: about {} of work in a chunk, for rows of about {:.0f} tokens on {}; a "
      "commit takes {}",
      format_duration(speed.row_seconds * static_cast<double>(stream.chunk_rows)),
      static_cast<double>(request.texts.tokens) / rows, speed.device,
      format_duration(commit_seconds()));
}

}  // namespace encode
