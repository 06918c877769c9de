// `encode plan`: the best settings for an experiment on a device, and what they cost. Any thread
// may call the function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/config.h"

#include "plan/cluster_plan.h"
#include "plan/planned_devices.h"
#include "plan/text_survey.h"
#include "run_plan/memory/compute_rate.h"
#include "run_plan/memory/disk_space.h"
#include "run_plan/memory/memory_refusal.h"

namespace encode {

struct PlanRequest {
  RunConfig config;
  // True if the user has set batch_size or batch_tokens. A batch of this size is refused if it
  // cannot fit.
  bool own_batches = false;
  bool fixed_batches = false;  // the plan is for the batches that `config` has, and finds no others
  AskedBatch asked_batch = {};  // the limits of `fixed_batches`
  bool fixed_chunks = false;    // the plan is for the chunks that `config` has
  // The keys of the config file that set batches for single streams. The plan sets these as well,
  // because they override the settings of all streams.
  std::vector<std::string> stream_keys = {};
  DeviceWish wish = {};
  int64_t target_effective_batch = 0;  // rows of one step; 0: none
  // Plans for this number of rows in each stream; 0: the real number.
  int64_t rows = 0;
  double tokens_per_second = 0;   // of a device, from the user; 0: not given
  std::string speed_origin = {};  // see given_rate()
  ClusterWish cluster = {};
  std::string version = {};  // of encode, for the profiles
};

// An alternative to the planned settings, and what it would cost.
struct Price {
  std::string choice = {};   // "batch_tokens 32,768 (half)"
  int64_t memory_bytes = 0;  // the memory of the device
  EncodingTime time = {};    // the time for the stream
  std::string note = {};     // "does not fit", or ""
};

// A step of `rows` rows in `batches` batches of at most `batch_rows` rows of max_length tokens.
struct MicroBatches {
  int64_t rows = 0;
  int64_t batches = 0;
  int64_t batch_rows = 0;
};

struct PlannedStream {
  std::string name = {};
  std::string model_path = {};
  std::string dtype = {};
  MemoryRequest request;  // with the planned batches
  PlannedBatch planned;
  std::string batch_note = {};  // see explain_batches()
  ComputeRate rate;
  EncodingTime time = {};
  int64_t chunk_rows = 0;
  // True if the user has set `chunk_rows` or if it follows from the time of a row. If false, the
  // memory is estimated for `chunk_rows`, but the plan does not recommend it.
  bool chunks_known = false;
  int64_t lost_rows = 0;  // see most_lost_rows()
  TextSurvey survey;
  PaddingCost padding;
  MicroBatches micro;
  std::vector<Price> prices = {};

  double lost_seconds() const;  // the time of `lost_rows`; 0: not known
};

struct DevicePlan {
  PlannedDevice device;
  std::vector<PlannedStream> streams = {};
  EncodingTime time = {};    // the time for all streams
  int64_t host_bytes = 0;    // the host's memory beside a GPU; 0 on a CPU
  RunLimit host_limit = {};  // the limit of host_bytes

  // The stream with the largest memory, which decides whether the experiment fits.
  const PlannedStream& largest() const;
  bool chunks_known() const;  // PlannedStream::chunks_known of all streams
};

// A setting that the plan would write into the config.
struct PlannedSetting {
  std::string key = {};  // "semantic.batch_tokens"
  std::string value = {};

  bool operator==(const PlannedSetting&) const = default;
};

struct ExperimentPlan {
  std::vector<DevicePlan> devices = {};
  EncodingTime time = {};  // the time on all devices together
  DiskNeed disk;           // all 0 if the number of rows is not known, or with a cluster
  DiskSpace space;
  std::optional<ClusterPlan> cluster = {};    // of the first device
  std::vector<PlannedSetting> settings = {};  // for the first device
  std::string config_path = {};               // "": there is no config file; see setting_name()
  std::vector<std::string> notes = {};
};

// Without texts, a plan is for this number of rows of max_length tokens each, which
// PlanRequest::rows overrides.
inline constexpr int64_t kRowsWithoutTexts = 1'000'000;

// Opens the models, reads all inputs and plans. A stream whose input has no path has no texts.
// Throws what open_model_directory(), effective_result(), planned_devices(), survey_texts(),
// require_memory(), require_batch() and require_disk() throw, Error kUsage "plan.stdin" for
// standard input, and kConfig "plan.no_fit" if not even the smallest batch fits into the memory
// that is free.
ExperimentPlan plan_experiment(const PlanRequest& request);

}  // namespace encode
