#include "plan/experiment_plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <utility>

#include "encode/error.h"
#include "encode/tokenizer.h"

#include "base/units.h"
#include "model_dir/truncation.h"
#include "plan/prices.h"
#include "run_plan/fit_check.h"
#include "run_plan/memory/chunk_rows.h"
#include "run_plan/memory/memory_refusal.h"
#include "tokenizer/document_tokens.h"

namespace encode {
namespace {

// The rate for chunk_size if the device's rate is not known.
constexpr double kUnknownRowSeconds = 0.01;
constexpr double kUsualCommitSeconds = 0.02;  // two files on a usual disk; a run measures it

// A stream whose device is not chosen yet.
struct SurveyedStream {
  const StreamConfig* config = nullptr;
  std::string model_path;
  MemoryRequest request;
  TextSurvey survey;
};

ModelDirectory open(const StreamConfig& stream, const std::string& path) {
  return open_model_directory(path, custom_code_policy(stream.result.ignore_custom_code));
}

class Surveys {
 public:
  explicit Surveys(const PlanRequest& request) : request_(request) {}

  SurveyedStream survey(const StreamConfig& stream) {
    refuse_standard_input(stream);
    const std::string path = resolve_model(stream.result.model, stream.result.revision);
    if (!models_.contains(path)) models_.emplace(path, open(stream, path));
    const ModelDirectory& directory = models_.at(path);
    SurveyedStream found;
    found.config = &stream;
    found.model_path = path;
    const EffectiveResult effective = effective_result(directory, stream.result);
    found.request = memory_request(directory, effective);
    found.request.prefetch_bytes = stream.speed.prefetch_bytes;
    if (stream.input.path.empty()) {
      found.survey = full_rows(effective);
      found.request.texts = found.survey.facts;
      return found;
    }
    found.survey = survey_texts(stream.input,
                                {.model_path = path,
                                 .tokenizer = tokenizer_of(path, effective.tokenizer),
                                 .tokenize = {.max_length = effective.longest_sequence(),
                                              .add_special_tokens = directory.add_special_tokens},
                                 .prompt = effective.prompt,
                                 .passages = effective.passages,
                                 .frame = literal_frame(stream.input)});
    if (request_.rows > 0) scale(found.survey.facts);
    found.request.texts = found.survey.facts;
    return found;
  }

  const ModelDirectory& model(const std::string& path) const { return models_.at(path); }

 private:
  static void refuse_standard_input(const StreamConfig& stream) {
    if (!stream.input.is_standard_input()) return;
    throw Error({.code = "plan.stdin",
                 .what = "a plan reads the input before the run does, and standard input can be "
                         "read only once",
                 .where = stream.name(),
                 .expected = "an input file",
                 .found = "-",
                 .hint = "write the rows to a file first"});
  }

  // Makes the rows of a plan without texts. They have the greatest length, so the plan is valid for
  // all texts.
  TextSurvey full_rows(const EffectiveResult& effective) const {
    constexpr int64_t kBytesPerToken = 4;
    const int64_t max_length = effective.longest_sequence();
    const int64_t rows = request_.rows > 0 ? request_.rows : kRowsWithoutTexts;
    TextSurvey survey;
    survey.facts = {.rows = rows,
                    .tokens = rows * max_length,
                    .text_bytes = rows * max_length * kBytesPerToken,
                    .longest_row_tokens = max_length};
    return survey;
  }

  void scale(TextFacts& facts) const {
    const double factor =
        static_cast<double>(request_.rows) / static_cast<double>(std::max<int64_t>(1, facts.rows));
    const auto scaled = [factor](int64_t n) {
      return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(n) * factor));
    };
    facts = {.rows = request_.rows,
             .tokens = scaled(facts.tokens),
             .text_bytes = scaled(facts.text_bytes),
             .longest_row_tokens = facts.longest_row_tokens,
             .passages = facts.passages > 0 ? scaled(facts.passages) : 0,
             .windows = facts.windows > 0 ? scaled(facts.windows) : 0};
  }

  // Returns nullptr if the directory has no tokenizer: then every row must be token ids. All
  // streams of a directory have the same `rules`.
  const Tokenizer* tokenizer_of(const std::string& path, const TokenizerRules& rules) {
    const auto known = tokenizers_.find(path);
    if (known != tokenizers_.end()) return known->second.get();
    const ModelDirectory& directory = models_.at(path);
    TokenizerSource source = read_tokenizer_source(directory, rules);
    std::unique_ptr<Tokenizer> loaded;
    if (!tokenizer_file_of(source).empty())
      loaded = load_document_tokenizer(std::move(source), directory);
    return tokenizers_.emplace(path, std::move(loaded)).first->second.get();
  }

  const PlanRequest& request_;
  std::map<std::string, ModelDirectory> models_;
  std::map<std::string, std::unique_ptr<Tokenizer>> tokenizers_;
};

MicroBatches micro_batches(int64_t rows, const PlannedBatch& planned, int64_t max_length) {
  if (rows <= 0) return {};
  const int64_t fits =
      std::max<int64_t>(1, planned.batches.budget_tokens / std::max<int64_t>(1, max_length));
  const int64_t batches = (rows + fits - 1) / fits;
  return {.rows = rows, .batches = batches, .batch_rows = (rows + batches - 1) / batches};
}

[[noreturn]] void refuse_device(const PlannedStream& stream, const PlannedDevice& device) {
  const MemoryRoom& room = device.room;
  const bool by_limit = room.limited_by_run();
  throw Error(
      {.code = "plan.no_fit",
       .what = fmt::format(
           "{} does not fit into {}", stream.name,
           by_limit ? "the memory limit of the run" : "the free memory of " + device.name),
       .where = stream.model_path,
       .expected = fmt::format("{}: {}", format_bytes(room.usable_bytes()), usable_text(room)),
       .found = fmt::format("{} with the smallest batch, {} of it for weights and tables",
                            format_bytes(stream.planned.memory.total_bytes()),
                            format_bytes(stream.planned.memory.bytes_of(MemoryKind::kWeights) +
                                         stream.planned.memory.bytes_of(MemoryKind::kTables))),
       .hint =
           fmt::format("{}, or give --dtype bfloat16 (semantic.dtype)",
                       by_limit ? "raise the limit" : "free some memory, raise --safety-margin")});
}

// Returns the time that several devices take which share the rows.
EncodingTime time_together(const std::vector<DevicePlan>& devices) {
  const auto together = [&devices](double EncodingTime::*of) {
    double rate = 0;
    for (const DevicePlan& device : devices) {
      if (device.time.*of <= 0) return 0.0;
      rate += 1 / (device.time.*of);
    }
    return 1 / rate;
  };
  return {.seconds = together(&EncodingTime::seconds),
          .least = together(&EncodingTime::least),
          .most = together(&EncodingTime::most)};
}

class Planner {
 public:
  explicit Planner(const PlanRequest& request) : request_(request), profiles_(profiles_path()) {}

  ExperimentPlan plan();

 private:
  DevicePlan plan_device(PlannedDevice device, const std::vector<SurveyedStream>& streams);
  PlannedStream plan_stream(const SurveyedStream& surveyed, const PlannedDevice& device);
  BatchPlan own_batches(const SurveyedStream& surveyed, const PlannedDevice& device) const;
  void refuse_own_batch(const SurveyedStream& surveyed, const PlannedDevice& device) const;
  void choose_batches(const SurveyedStream& surveyed, const PlannedDevice& device,
                      PlannedStream& stream) const;
  int64_t chunk_rows_of(const PlannedStream& stream) const;
  void plan_disk(const std::vector<SurveyedStream>& streams, ExperimentPlan& plan) const;
  std::vector<PlannedSetting> settings(const DevicePlan& plan) const;

  const PlanRequest& request_;
  Profiles profiles_;
};

BatchPlan Planner::own_batches(const SurveyedStream& surveyed, const PlannedDevice& device) const {
  const EffectiveResult& effective = surveyed.request.effective;
  return plan_batches(surveyed.config->speed, effective.launch_tokens, effective.max_length,
                      {.kind = device.room.kind, .threads = device.room.threads});
}

// Refuses the batch that the user asks for if it cannot fit, even if these texts would not fill it.
void Planner::refuse_own_batch(const SurveyedStream& surveyed, const PlannedDevice& device) const {
  if (!request_.own_batches || device.room.kind == DeviceKind::kCpu) return;
  MemoryRequest request = surveyed.request;
  request.texts = {};
  request.batches = own_batches(surveyed, device);
  require_batch(request, limit_of(device, request_.config.hardware));
}

void Planner::choose_batches(const SurveyedStream& surveyed, const PlannedDevice& device,
                             PlannedStream& stream) const {
  if (request_.fixed_batches) {
    stream.request.batches = own_batches(surveyed, device);
    stream.planned = fixed_batch(stream.request, device.room);
    stream.batch_note =
        explain_batches(request_.asked_batch, surveyed.config->speed, stream.request.batches);
    if (!stream.batch_note.empty() && stream.planned.limit == BatchLimit::kFixed)
      stream.planned.limit = BatchLimit::kOther;
  } else {
    stream.planned = plan_batch(stream.request, device.room);
  }
  if (stream.planned.limit == BatchLimit::kNothingFits) refuse_device(stream, device);
  stream.request.batches = stream.planned.batches;
  stream.time = encoding_time(stream.request, stream.rate);
}

int64_t Planner::chunk_rows_of(const PlannedStream& stream) const {
  const int64_t rows = stream.request.texts.rows;
  if (request_.fixed_chunks) return request_.config.store.chunk_rows(rows);
  return auto_chunk_rows({.rows = rows,
                          .row_seconds = stream.time.seconds > 0
                                             ? stream.time.seconds / static_cast<double>(rows)
                                             : kUnknownRowSeconds,
                          .commit_seconds = kUsualCommitSeconds});
}

PlannedStream Planner::plan_stream(const SurveyedStream& surveyed, const PlannedDevice& device) {
  PlannedStream stream;
  stream.name = surveyed.config->name();
  stream.model_path = surveyed.model_path;
  stream.request = surveyed.request;
  stream.survey = surveyed.survey;
  const EffectiveResult& effective = stream.request.effective;
  stream.dtype = to_string(effective.dtype);
  require_memory(stream.request, limit_of(device, request_.config.hardware), stream.model_path);
  refuse_own_batch(surveyed, device);
  stream.rate =
      request_.tokens_per_second > 0
          ? given_rate(request_.tokens_per_second, request_.speed_origin)
          : compute_rate(
                device, effective,
                profiles_.flops_per_second({.device = device.name,
                                            .dtype = stream.dtype,
                                            .model_type = stream.request.shape.model_type,
                                            .hidden_size = stream.request.shape.hidden_size}));
  choose_batches(surveyed, device, stream);
  stream.chunk_rows = chunk_rows_of(stream);
  stream.chunks_known = request_.fixed_chunks || stream.time.seconds > 0;
  stream.request.chunk_rows = stream.chunk_rows;
  choose_batches(surveyed, device, stream);  // again, because a window depends on the chunks
  stream.lost_rows = most_lost_rows(stream.request);
  stream.padding =
      padding_cost(stream.survey.sample, stream.planned.batch_size, effective.max_length);
  stream.micro =
      micro_batches(request_.target_effective_batch, stream.planned, effective.max_length);
  stream.prices = prices_of(stream, device.room);
  return stream;
}

DevicePlan Planner::plan_device(PlannedDevice device, const std::vector<SurveyedStream>& streams) {
  DevicePlan plan;
  device.room.correction = profiles_.correction(device.name, request_.version);
  plan.device = std::move(device);
  bool known = true;
  for (const SurveyedStream& surveyed : streams) {
    plan.streams.push_back(plan_stream(surveyed, plan.device));
    const PlannedStream& stream = plan.streams.back();
    plan.time.add(stream.time);
    known = known && stream.time.seconds > 0;
    if (plan.device.room.kind == DeviceKind::kCuda)
      plan.host_bytes =
          std::max(plan.host_bytes, estimate_host_of_cuda(stream.request).total_bytes());
  }
  if (plan.host_bytes > 0) plan.host_limit = run_limit(request_.config.hardware);
  if (!known) plan.time = {};
  return plan;
}

void Planner::plan_disk(const std::vector<SurveyedStream>& streams, ExperimentPlan& plan) const {
  const RunConfig& config = request_.config;
  std::vector<StreamDisk> disks;
  for (size_t i = 0; i < streams.size(); ++i) {
    const std::string name = streams[i].config->name();
    const EffectiveResult& effective = streams[i].request.effective;
    const TextFacts& texts = streams[i].request.texts;
    const int64_t rows = effective.passage_vectors() ? texts.vectors() : texts.rows;
    const int64_t chunk_rows = plan.devices.front().streams[i].chunk_rows;
    disks.push_back(
        {.name = name,
         .vectors = effective.token_embeddings() ? texts.tokens : rows,
         .largest_chunk = vectors_of_rows(chunk_rows, rows, texts.rows),
         .dim = effective.dim,
         .column_bytes = column_bytes(config.store.final_format, rows, texts.text_bytes),
         .existing_bytes = existing_bytes(config, name),
         .finished = has_finished(config, name),
         .filtered = streams[i].config->input.filter.any()});
  }
  const ExperimentDisk checked = check_experiment_disk(config, std::move(disks));
  plan.disk = checked.need;
  plan.space = checked.space;
  if (plan.disk.peak.total() > plan.space.usable_bytes)
    plan.notes.push_back(fmt::format("the disk may be too small: {} has {} free", plan.space.path,
                                     format_bytes(plan.space.usable_bytes)));
  const EmbeddingCacheOptions& cache = config.embedding_cache;
  if (!cache.dir.empty())
    plan.notes.push_back(fmt::format("beside this, the embedding cache in {} takes up to {}",
                                     preview(cache.dir, 200), format_bytes(cache.disk_bytes)));
}

// Returns the settings for the config. They are written once for all streams; if the streams
// differ, the smallest batch is taken, because it fits all streams.
std::vector<PlannedSetting> Planner::settings(const DevicePlan& plan) const {
  int64_t tokens = plan.streams.front().planned.batches.budget_tokens;
  int64_t rows = 0;
  int64_t chunk = plan.streams.front().chunk_rows;
  int64_t threads = plan.streams.front().planned.threads;
  for (const PlannedStream& stream : plan.streams) {
    tokens = std::min(tokens, stream.planned.batches.budget_tokens);
    rows = std::max(
        rows, stream.micro.batch_rows > 0 ? stream.micro.batch_rows : stream.planned.batch_size);
    chunk = std::min(chunk, stream.chunk_rows);
    threads = std::min(threads, stream.planned.threads);
  }
  const std::string sizes[] = {fmt::to_string(rows), fmt::to_string(tokens)};
  std::vector<PlannedSetting> settings;
  // Batch settings for a CPU are not written: its batches are always small, and the same numbers
  // would slow down a later run on a GPU.
  const bool cpu = plan.device.room.kind == DeviceKind::kCpu;
  if (!cpu) {
    settings.push_back({.key = "semantic.batch_size", .value = sizes[0]});
    settings.push_back({.key = "semantic.batch_tokens", .value = sizes[1]});
  }
  if (plan.chunks_known())
    settings.push_back({.key = "semantic.chunk_size", .value = fmt::to_string(chunk)});
  if (cpu) {
    settings.push_back({.key = "hardware.threads", .value = fmt::to_string(threads)});
    return settings;
  }
  for (const std::string& key : request_.stream_keys)
    settings.push_back({.key = key, .value = sizes[key.ends_with("batch_size") ? 0 : 1]});
  return settings;
}

ExperimentPlan Planner::plan() {
  std::vector<PlannedDevice> devices = planned_devices(
      request_.config.hardware, request_.config.streams.front().speed.threads, request_.wish);
  Surveys surveys(request_);
  std::vector<SurveyedStream> streams;
  ExperimentPlan plan;
  for (const StreamConfig& stream : request_.config.streams) {
    const std::string path = resolve_model(stream.result.model, stream.result.revision);
    // Checked before the texts are read, because that may take a while.
    const ModelDirectory directory = open(stream, path);
    for (const PlannedDevice& device : devices)
      require_memory(memory_request(directory, effective_result(directory, stream.result)),
                     limit_of(device, request_.config.hardware), path);
    streams.push_back(surveys.survey(stream));
    for (const std::string& warning : surveys.model(path).warnings) {
      if (std::find(plan.notes.begin(), plan.notes.end(), warning) == plan.notes.end())
        plan.notes.push_back(warning);
    }
  }
  if (!profiles_.note().empty()) plan.notes.push_back(profiles_.note());
  for (PlannedDevice& device : devices)
    plan.devices.push_back(plan_device(std::move(device), streams));
  plan.time = time_together(plan.devices);
  const bool rows_known = request_.rows > 0 || !streams.front().config->input.path.empty();
  if (request_.cluster.nodes > 0) {
    plan.cluster = plan_cluster(request_.config, request_.cluster, plan.devices.front());
  } else if (rows_known) {
    plan_disk(streams, plan);  // of this machine
  }
  plan.settings = settings(plan.devices.front());
  plan.config_path = request_.config.config_path;
  return plan;
}

}  // namespace

ExperimentPlan plan_experiment(const PlanRequest& request) { return Planner(request).plan(); }

}  // namespace encode
