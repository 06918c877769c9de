// `encode plan --nodes N --gpus G`: what a whole experiment costs if it is encoded in shards on
// many devices: the scan, the encoding, the merge, the bytes that go to and from the storage, and
// the number of shards. Any thread may call the functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/config.h"

#include "run_plan/memory/compute_rate.h"

namespace encode {

struct DevicePlan;

struct ClusterWish {
  int64_t nodes = 0;  // 0: no plan for a cluster
  int64_t gpus = 1;   // of each node
  // The bytes that the storage reads and writes in a second for all nodes together; 0: not known.
  int64_t storage_bytes_per_second = 0;
};

// Where a price comes from.
enum class PriceBasis {
  kGiven,      // by the user
  kMeasured,   // on the device of the plan
  kElsewhere,  // measured on other machines: a figure of docs/scale.md
  kAssumed,
};
std::string_view to_string(PriceBasis basis);  // "measured elsewhere"

// One of the steps that follow each other.
struct ClusterStep {
  std::string name = {};   // "scan", "encode", "merge"
  EncodingTime time = {};  // all 0 if it is not known
  std::string limit = {};  // what decides the time: "the GPUs", "the storage", "one process"
  PriceBasis basis = PriceBasis::kAssumed;
};

struct ClusterPlan {
  ClusterWish wish;
  std::string device = {};        // "H100-80GB"
  std::string devices_word = {};  // "GPUs", "CPUs"
  int64_t shards = 0;             // 0: the speed is not known
  // The numbers of shards with which a shard takes 30 and 5 minutes.
  int64_t fewest_shards = 0;
  int64_t most_shards = 0;
  double start_seconds = 0;       // of each run of a shard, before its first row
  EncodingTime shard_time = {};   // with the start
  EncodingTime device_time = {};  // of all devices together, with the starts
  std::string speed_source = {};  // ComputeRate::source
  PriceBasis speed_basis = PriceBasis::kAssumed;

  // Bytes between the nodes and the storage, over all steps.
  double bytes_read = 0;
  double bytes_written = 0;
  // What the storage must take in a second so that the devices do not wait; 0: not known.
  double needed_bytes_per_second = 0;
  double storage_bytes_per_second = 0;
  PriceBasis storage_basis = PriceBasis::kAssumed;
  double disk_bytes = 0;      // the most at one time
  double part_bytes = 0;      // of these, the parts of all shards
  double chunk_bytes = 0;     // of these, the chunks of the shards at work
  double one_file_bytes = 0;  // of these, what the merge writes

  std::vector<ClusterStep> steps = {};
  EncodingTime time = {};  // of all steps; all 0 if a step is not known
  // The step that takes longest; null if the speed is not known.
  const ClusterStep* bottleneck() const;
};

// `device` is the plan for one device of the cluster.
ClusterPlan plan_cluster(const RunConfig& config, const ClusterWish& wish,
                         const DevicePlan& device);

}  // namespace encode
