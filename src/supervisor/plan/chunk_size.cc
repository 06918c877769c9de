#include "supervisor/plan/chunk_size.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "base/file.h"
#include "base/host.h"
#include "base/json.h"
#include "base/path_kind.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "supervisor/plan/cache_files.h"

namespace encode {
namespace {

constexpr double kMostChunks = 20'000;
constexpr double kMostRows = 1e9;  // as for a number in the config

// Rough speeds. docs/performance.md has measured ones, which differ by a factor of a few with the
// processor and the type. auto_chunk_rows() leaves that much room.
constexpr double kCpuThreadOperations = 100e9;  // per second
constexpr double kGpuOperations = 40e12;        // per second
// No row is faster than reading and tokenizing it.
constexpr double kTextBytesPerSecond = 20e6;
constexpr double kTextBytesPerToken = 4;

// The largest number of 1, 2, 5, 10, 20, .. that is at most `value`, which is at least 1.
double round_down(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {5, 2}) {
    if (step * power <= value) return step * power;
  }
  return power;
}

bool has_nvidia_driver() { return path_exists("/proc/driver/nvidia/version", "io.stat"); }

bool on_gpu(const HardwareOptions& hardware) {
  return hardware.device == "auto" ? has_nvidia_driver() : hardware.device != "cpu";
}

// The number of layers under any of the names that config.json has for it, or 0.
int64_t layers_of(const ModelDirectory& directory) {
  constexpr std::array<const char*, 4> kNames = {"num_hidden_layers", "num_layers", "n_layer",
                                                 "n_layers"};
  const Json config = Json::parse(directory.config_json, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return 0;
  for (const char* name : kNames) {
    const auto found = config.find(name);
    if (found != config.end() && found->is_number_integer()) return found->get<int64_t>();
  }
  return 0;
}

double elements(const TensorInfo& tensor) {
  double count = 1;
  for (const int64_t size : tensor.shape) count *= static_cast<double>(size);
  return count;
}

}  // namespace

int64_t auto_chunk_rows(const ChunkFacts& facts) {
  const double longest = kMostLostSeconds / 2;
  const double shortest = std::min(facts.commit_seconds / kMostCommitShare, longest);
  // A commit of no measurable time would put the middle at 0.
  constexpr double kLeastSeconds = 0.1;
  const double middle = std::sqrt(std::max(shortest, kLeastSeconds) * longest);
  const double row_seconds = std::max(facts.row_seconds, longest / kMostRows);
  const double few_chunks = static_cast<double>(facts.rows) / kMostChunks;
  const double rows = std::min(std::max(middle / row_seconds, few_chunks), longest / row_seconds);
  return static_cast<int64_t>(round_down(std::max(rows, 1.0)));
}

double row_operations(const ModelDirectory& directory, double row_tokens) {
  double weights = 0;
  for (const auto& [name, tensor] : directory.tensors) {
    const bool table = name.find("embed") != std::string::npos ||
                       (!tensor.shape.empty() && tensor.shape[0] == directory.vocab_size);
    if (tensor.shape.size() >= 2 && !table) weights += elements(tensor);
  }
  // Two products of [tokens, tokens] and [tokens, hidden_size] in each layer, for all heads
  // together.
  const double attention = 4 * row_tokens * static_cast<double>(directory.hidden_size) *
                           static_cast<double>(layers_of(directory));
  return row_tokens * (2 * weights + attention);
}

// A commit syncs a chunk and a line of the log, so a probe writes two files.
double ChunkSizes::commit_seconds() {
  if (commit_seconds_) return *commit_seconds_;
  constexpr size_t kProbes = 3;
  const std::string path = fmt::format("{}/{}", config_.store.cache_dir, kCommitProbe);
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
  const bool chunks = store.use_chunked_encoding && store.save_chunks;
  if (store.chunk_size != kAutoChunkRows || !chunks) {
    stream.chunk_rows = store.chunk_size > 0 ? store.chunk_size : kDefaultChunkRows;
    return;
  }
  const int64_t rows = stream.scan.rows;
  const double row_bytes =
      static_cast<double>(stream.scan.text_bytes) / static_cast<double>(std::max<int64_t>(rows, 1));
  const double row_tokens = std::clamp(row_bytes / kTextBytesPerToken, 1.0,
                                       static_cast<double>(stream.effective.max_length));
  const int64_t asked = stream.config.speed.threads;
  const int64_t threads = asked > 0 ? asked : cpu_quota();
  const bool gpu = on_gpu(config_.hardware);
  const double speed = gpu ? kGpuOperations : kCpuThreadOperations * static_cast<double>(threads);
  const double row_seconds =
      std::max(row_operations(directory, row_tokens) / speed, row_bytes / kTextBytesPerSecond);
  stream.chunk_rows = auto_chunk_rows(
      {.rows = rows, .row_seconds = row_seconds, .commit_seconds = commit_seconds()});
  stream.chunk_reason = fmt::format(
      "chunk_size auto: about {} of work in a chunk, for rows of about {:.0f} tokens on {}; a "
      "commit "
      "takes {}",
      format_duration(row_seconds * static_cast<double>(stream.chunk_rows)), row_tokens,
      gpu ? "a GPU" : fmt::format("{} CPU threads", threads), format_duration(commit_seconds()));
}

}  // namespace encode
