#include "plan/cluster_plan.h"

#include <algorithm>
#include <cmath>

#include "base/output_types.h"
#include "plan/experiment_plan.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_paths.h"

namespace encode {
namespace {

// Figures of docs/scale.md, from two cores of an AMD EPYC: a scan of short rows, a scan of long
// rows, and a merge that compares the hashes of all parts.
constexpr double kScanRowsPerSecond = 5.7e6;
constexpr double kScanBytesPerSecond = 0.65e9;
constexpr double kMergeBytesPerSecond = 1.3e9;
// Loading took 2.2 s for a small model and 4.7 s for 3.1 GB on an H100 (docs/gpu-measured.md).
constexpr double kStartSeconds = 2.2;
constexpr double kLoadBytesPerSecond = 1.2e9;

constexpr double kUsualStorageBytesPerSecond = 1e9;
constexpr double kLongestShardSeconds = 30 * 60;
constexpr double kUsualShardSeconds = 15 * 60;
constexpr double kShortestShardSeconds = 5 * 60;

EncodingTime times(const EncodingTime& time, double factor) {
  return {
      .seconds = time.seconds * factor, .least = time.least * factor, .most = time.most * factor};
}

EncodingTime at_least(const EncodingTime& time, double seconds) {
  return {.seconds = std::max(time.seconds, seconds),
          .least = std::max(time.least, seconds),
          .most = std::max(time.most, seconds)};
}

EncodingTime exactly(double seconds) {
  return {.seconds = seconds, .least = seconds, .most = seconds};
}

// The bytes of an experiment.
struct Volume {
  double rows = 0;
  double texts = 0;
  double chunks = 0;   // float32
  double parts = 0;    // the final matrices that the shards make
  double merged = 0;   // the matrices after a conversion of the parts; 0: there is none
  double weights = 0;  // of the largest model
};

double final_bytes(OutputType type, double vectors, int64_t dim) {
  return vectors * static_cast<double>(output_columns(type, dim) * item_facts(type).bytes);
}

Volume volume_of(const RunConfig& config, const DevicePlan& device) {
  const FinalFormat& format = config.store.final_format;
  const bool converted = has_ranges(format.type) && format.ranges_file.empty();
  const OutputType part_type = converted ? OutputType::kFloat32 : format.type;
  Volume volume;
  std::vector<double> parts;
  std::vector<double> finals;
  for (const PlannedStream& stream : device.streams) {
    const TextFacts& texts = stream.request.texts;
    const EffectiveResult& effective = stream.request.effective;
    const int64_t rows = effective.passage_vectors() ? texts.vectors() : texts.rows;
    const auto vectors = static_cast<double>(effective.token_embeddings() ? texts.tokens : rows);
    volume.rows += static_cast<double>(texts.rows);
    volume.texts += static_cast<double>(texts.text_bytes);
    volume.chunks += final_bytes(OutputType::kFloat32, vectors, effective.dim);
    const auto columns = static_cast<double>(column_bytes(format, rows, texts.text_bytes));
    parts.push_back(final_bytes(part_type, vectors, effective.dim) + columns);
    finals.push_back(final_bytes(format.type, vectors, effective.dim) + columns);
    const MemoryEstimate& memory = stream.planned.memory;
    volume.weights =
        std::max(volume.weights, static_cast<double>(memory.bytes_of(MemoryKind::kWeights) +
                                                     memory.bytes_of(MemoryKind::kTables)));
  }
  double combined = 0;
  for (const CombineConfig& combine : config.combine) {
    for (const size_t stream : streams_of(config, combine)) combined += finals[stream];
  }
  for (const double bytes : parts) volume.parts += bytes;
  // If the merge converts the matrices, it also makes the combined ones. Otherwise each shard does.
  if (!converted) volume.parts += combined;
  if (!converted) return volume;
  for (const double bytes : finals) volume.merged += bytes;
  volume.merged += combined;
  return volume;
}

PriceBasis basis_of(const ComputeRate& rate) {
  if (rate.tokens_per_second > 0) return PriceBasis::kGiven;
  return rate.measured ? PriceBasis::kMeasured : PriceBasis::kAssumed;
}

class ClusterPlanner {
 public:
  ClusterPlanner(const RunConfig& config, const ClusterWish& wish, const DevicePlan& device)
      : config_(config), wish_(wish), device_(device), volume_(volume_of(config, device)) {}

  ClusterPlan plan();

 private:
  void choose_shards();
  void count_bytes();
  ClusterStep scan() const;
  ClusterStep encode();
  ClusterStep merge() const;

  double devices() const { return static_cast<double>(wish_.nodes * wish_.gpus); }
  double merge_reads() const { return volume_.merged > 0 ? 2 * volume_.parts : volume_.parts; }
  double merge_writes() const;
  // Each row is read as text and written to a chunk, and the chunk is read for the part. A node
  // reads a model once.
  double encoding_reads() const {
    return volume_.texts + volume_.chunks + volume_.weights * static_cast<double>(wish_.nodes);
  }
  double encoding_writes() const { return volume_.chunks + volume_.parts; }

  const RunConfig& config_;
  const ClusterWish wish_;
  const DevicePlan& device_;
  const Volume volume_;
  ClusterPlan plan_;
};

double ClusterPlanner::merge_writes() const {
  if (volume_.merged > 0) return volume_.merged;
  return config_.store.parts == OutputParts::kOne ? volume_.parts : 0;
}

// All devices begin a shard at the same time, so the number is a multiple of the devices: in the
// last round no device is idle. But no shard is without rows.
void ClusterPlanner::choose_shards() {
  const double seconds = device_.time.seconds;
  if (seconds <= 0) return;
  const double rounds = std::max(1.0, std::round(seconds / devices() / kUsualShardSeconds));
  const double most = std::max(1.0, std::min(volume_.rows, static_cast<double>(kMostShards)));
  const auto counted = [&](double shards) {
    return static_cast<int64_t>(std::clamp(std::ceil(shards), 1.0, most));
  };
  plan_.shards = counted(rounds * devices());
  plan_.fewest_shards = counted(seconds / kLongestShardSeconds);
  plan_.most_shards =
      std::max(plan_.fewest_shards, counted(std::floor(seconds / kShortestShardSeconds)));
  plan_.start_seconds = kStartSeconds + volume_.weights / kLoadBytesPerSecond;
  const auto shards = static_cast<double>(plan_.shards);
  plan_.shard_time = times(device_.time, 1 / shards);
  plan_.shard_time.add(exactly(plan_.start_seconds));
  plan_.device_time = times(plan_.shard_time, shards);
}

void ClusterPlanner::count_bytes() {
  plan_.storage_bytes_per_second = wish_.storage_bytes_per_second > 0
                                       ? static_cast<double>(wish_.storage_bytes_per_second)
                                       : kUsualStorageBytesPerSecond;
  plan_.storage_basis =
      wish_.storage_bytes_per_second > 0 ? PriceBasis::kGiven : PriceBasis::kAssumed;
  plan_.bytes_read = volume_.texts + encoding_reads() + merge_reads();
  plan_.bytes_written = encoding_writes() + merge_writes();
  plan_.part_bytes = volume_.parts;
  plan_.one_file_bytes = merge_writes();
  // A shard deletes its chunks when its part is published.
  const double at_work = plan_.shards > 0 && !config_.store.keep_chunk_cache
                             ? std::min(1.0, devices() / static_cast<double>(plan_.shards))
                             : 1;
  plan_.chunk_bytes = volume_.chunks * at_work;
  const double after = config_.store.keep_chunk_cache ? plan_.chunk_bytes : 0;
  plan_.disk_bytes = plan_.part_bytes + std::max(plan_.chunk_bytes, after + plan_.one_file_bytes);
}

ClusterStep ClusterPlanner::scan() const {
  const double process =
      std::max(volume_.rows / kScanRowsPerSecond, volume_.texts / kScanBytesPerSecond);
  const double storage = volume_.texts / plan_.storage_bytes_per_second;
  const bool by_storage = storage > process;
  return {.name = "scan",
          .time = exactly(std::max(process, storage)),
          .limit = by_storage ? "the storage" : "one process",
          .basis = by_storage ? plan_.storage_basis : PriceBasis::kElsewhere};
}

ClusterStep ClusterPlanner::encode() {
  ClusterStep step = {.name = "encode", .limit = "the " + plan_.devices_word};
  step.basis = plan_.speed_basis;
  if (plan_.shards == 0) return step;
  const double rounds = std::ceil(static_cast<double>(plan_.shards) / devices());
  step.time = times(plan_.shard_time, rounds);
  const double bytes = encoding_reads() + encoding_writes();
  plan_.needed_bytes_per_second = bytes / step.time.seconds;
  const double storage = bytes / plan_.storage_bytes_per_second;
  if (storage > step.time.seconds) {
    step.limit = "the storage";
    step.basis = plan_.storage_basis;
  }
  step.time = at_least(step.time, storage);
  return step;
}

ClusterStep ClusterPlanner::merge() const {
  const double process = (merge_reads() + merge_writes()) / kMergeBytesPerSecond;
  const double storage = (merge_reads() + merge_writes()) / plan_.storage_bytes_per_second;
  const bool by_storage = storage > process;
  return {.name = "merge",
          .time = exactly(std::max(process, storage)),
          .limit = by_storage ? "the storage" : "one process",
          .basis = by_storage ? plan_.storage_basis : PriceBasis::kElsewhere};
}

ClusterPlan ClusterPlanner::plan() {
  plan_.wish = wish_;
  plan_.device = device_.device.name;
  plan_.devices_word = device_.device.room.kind == DeviceKind::kCuda ? "GPUs" : "CPUs";
  plan_.speed_source = device_.streams.front().rate.source;
  plan_.speed_basis = basis_of(device_.streams.front().rate);
  choose_shards();
  count_bytes();
  plan_.steps = {scan(), encode(), merge()};
  if (plan_.shards == 0) return std::move(plan_);
  for (const ClusterStep& step : plan_.steps) plan_.time.add(step.time);
  return std::move(plan_);
}

}  // namespace

std::string_view to_string(PriceBasis basis) {
  switch (basis) {
    case PriceBasis::kGiven:
      return "given";
    case PriceBasis::kMeasured:
      return "measured";
    case PriceBasis::kElsewhere:
      return "measured elsewhere";
    case PriceBasis::kAssumed:
      return "assumed";
  }
  return "";
}

const ClusterStep* ClusterPlan::bottleneck() const {
  if (shards == 0) return nullptr;
  return &*std::ranges::max_element(steps, {},
                                    [](const ClusterStep& step) { return step.time.seconds; });
}

ClusterPlan plan_cluster(const RunConfig& config, const ClusterWish& wish,
                         const DevicePlan& device) {
  return ClusterPlanner(config, wish, device).plan();
}

}  // namespace encode
