#include "run_plan/plan.h"

#include <fmt/format.h>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/input_format.h"
#include "base/json.h"
#include "base/names.h"
#include "base/path_kind.h"
#include "base/units.h"
#include "model_dir/prompt_families.h"
#include "run_plan/chunk_size.h"
#include "run_plan/earlier_name.h"
#include "run_plan/early_checks.h"
#include "run_plan/final_table.h"
#include "run_plan/fit_check.h"
#include "run_plan/input_scans.h"
#include "run_plan/leavings.h"
#include "run_plan/output_guard.h"
#include "run_plan/plan_steps.h"
#include "run_plan/shard_plan.h"
#include "store/audit.h"
#include "store/file_list.h"
#include "store/fingerprint/fingerprint.h"
#include "store/run_files.h"

namespace encode {
namespace {

// Opens and hashes each model directory once, because most streams share one model.
class Models {
 public:
  Models(std::string hash_cache, const std::optional<MemoryLimit>& limit, RunLog& log)
      : hash_cache_(std::move(hash_cache)), limit_(limit), log_(log) {}

  const OpenedModel& open(const ResultOptions& options) {
    const std::string path = resolve_model(options.model, options.revision);
    const auto known = models_.find(path);
    if (known != models_.end()) return known->second;
    const OpenedModel model = open_fitting_model(path, options, limit_, hash_cache_);
    warn(model.directory.warnings);
    const int64_t bytes = model.bytes();
    log_.detail("model",
                fmt::format("model {}: {}, hidden size {}, {}, similarity {}", path,
                            model.directory.model_type, model.directory.hidden_size,
                            format_bytes(bytes), model.directory.similarity),
                {{"path", path},
                 {"model_type", model.directory.model_type},
                 {"hidden_size", model.directory.hidden_size},
                 {"bytes", bytes},
                 {"similarity", model.directory.similarity}});
    for (const AppliedRecipe& recipe : model.directory.recipes) {
      log_.info("model",
                fmt::format("custom code: encode does what {} does (recipe {})", recipe.code,
                            recipe.name),
                {{"path", path}, {"code", recipe.code}, {"recipe", recipe.name}});
    }
    return models_.emplace(path, model).first->second;
  }

  // Logs each warning once, even if it applies to several streams.
  void warn(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
      if (warned_.insert(warning).second) log_.warning("model", warning);
    }
  }

 private:
  std::string hash_cache_;
  std::optional<MemoryLimit> limit_;
  RunLog& log_;
  std::set<std::string> warned_;
  std::map<std::string, OpenedModel> models_;
};

}  // namespace

int64_t OpenedModel::bytes() const {
  return std::transform_reduce(directory.files.begin(), directory.files.end(), int64_t{0},
                               std::plus<>(), [](const ModelFile& file) { return file.bytes; });
}

OpenedModel open_hashed_model(const std::string& path, const std::string& hash_cache,
                              bool ignore_custom_code) {
  const CustomCodePolicy policy = custom_code_policy(ignore_custom_code);
  const ModelDirectory found = open_model_directory(path, policy);
  std::vector<FileHash> files = hash_model_files(found, hash_cache);
  // Parses the files once more, because they may have changed between the first parse and the
  // hashing.
  ModelDirectory directory = open_model_directory(path, files, policy);
  return {.directory = std::move(directory), .files = std::move(files)};
}

OpenedModel open_fitting_model(const std::string& path, const ResultOptions& options,
                               const std::optional<MemoryLimit>& limit,
                               const std::string& hash_cache) {
  check_model_fits(open_model_directory(path, custom_code_policy(options.ignore_custom_code)),
                   options, limit);
  return open_hashed_model(path, hash_cache, options.ignore_custom_code);
}

namespace {

void check_equal_rows(const CombinePlan& combine, const std::vector<StreamPlan>& streams) {
  const StreamPlan& first = streams[combine.streams.front()];
  for (const size_t i : combine.streams) {
    const StreamPlan& other = streams[i];
    if (other.scan.rows == first.scan.rows) continue;
    throw Error(
        {.code = "combine.rows",
         .what = fmt::format("the streams of {} have different numbers of rows", combine.name),
         .where = other.config.input.path,
         .expected = fmt::format("{}, as in {}", format_count(first.scan.rows, "row", "rows"),
                                 first.config.input.path),
         .found =
             fmt::format("{} ({} rejected of {})", format_count(other.scan.rows, "row", "rows"),
                         format_count(other.scan.rejected), format_count(other.scan.rows_in)),
         .hint = "row i of each stream must belong to the same sample; correct the inputs or "
                 "remove 'combine'"});
  }
}

// Throws if a stream has token embeddings. Such streams cannot be combined, because row i of two of
// these matrices belongs to different tokens.
void check_pooled(const CombinePlan& combine, const std::vector<StreamPlan>& streams) {
  for (const size_t i : combine.streams) {
    const StreamPlan& stream = streams[i];
    if (!stream.identity.token_embeddings) continue;
    throw Error({.code = "combine.pooling",
                 .what = "token embeddings cannot be combined",
                 .where = combine.name,
                 .expected = "streams with one vector per row",
                 .found = stream.config.name() + " with pooling: none",
                 .hint = "choose a pooling, or remove 'combine'"});
  }
}

// Says which prompt every row gets. If nobody has chosen one for a model that was trained with
// prompts, the line is a warning with the prompts.
void log_prompt(const StreamConfig& stream, const ModelDirectory& directory, RunLog& log) {
  const Json fields = {{"stream", stream.name()}};
  if (const std::optional<std::string> advice = prompt_advice(directory, stream.result)) {
    log.warning("prompt", fmt::format("{}: {}", stream.name(), *advice), fields);
  } else {
    log.info("prompt",
             fmt::format("{}: {}", stream.name(), describe_prompt(directory, stream.result)),
             fields);
  }
}

// Copies standard input and says which format was guessed, if none was given.
InputOptions spool(const StreamConfig& stream, const std::string& cache_dir, RunLog& log) {
  SpooledInput spooled =
      spool_standard_input(stream.input, RunFiles(cache_dir).standard_input(stream.name()));
  const Json fields = {{"stream", stream.name()},
                       {"format", name_of(kTextFormats, spooled.options.format)}};
  if (spooled.ambiguous) {
    log.warning("input_format", spooled.guess, fields);
  } else if (!spooled.guess.empty()) {
    log.info("input_format", spooled.guess, fields);
  }
  return std::move(spooled.options);
}

// Replaces standard input by its copy, also where the filter of another stream reads it.
void copy_standard_input(std::vector<StreamPlan>& streams, const std::string& cache_dir,
                         RunLog& log) {
  for (StreamPlan& source : streams) {
    source.standard_input = source.config.input.is_standard_input();
    if (!source.standard_input) continue;
    source.config.input = spool(source.config, cache_dir, log);
    for (StreamPlan& stream : streams) {
      InputFilter& filter = stream.config.input.filter;
      if (filter.paths != std::vector<std::string>{"-"}) continue;
      filter.paths = {source.config.input.path};
      filter.format = source.config.input.format;
    }
  }
}

// Returns the scans of the whole inputs, without checkpoints, as the plan of the shards has them.
std::vector<ScannedInput> scans_of_plan(const Shard& shard) {
  std::vector<ScannedInput> scans;
  for (const ShardedStream& stream : shard.plan.streams) scans.push_back({.scan = stream.scan});
  return scans;
}

// Says where the run or the plan of the shards writes the list of the files.
void place_file_list(const StoreOptions& store, PlanPurpose purpose, StreamPlan& stream) {
  const bool is_read = !stream.scan.files.empty();  // a shard has the list of its plan
  if (!stream.scan.listed || !is_read || purpose == PlanPurpose::kAudit) return;
  FileList& list = stream.scan.listed->list;
  const std::string path = purpose == PlanPurpose::kRun
                               ? file_list_path(store, stream.config.name())
                               : RunFiles(store.cache_dir).file_list(stream.config.name());
  list = placed(std::move(list), stream.scan.files, path);
  stream.identity.input_list = list;
}

// Makes the plan of a whole stream that of its shard. Throws if the plan of the shards was made for
// another stream.
void take_shard(const Shard& shard, size_t stream, const StoreOptions& store, StreamPlan& planned) {
  const StreamIdentity& whole = shard.plan.streams[stream].identity;
  if (whole.fingerprint != planned.identity.fingerprint || whole.dim != planned.identity.dim) {
    throw Error({.code = "shards.foreign",
                 .what = first_difference(whole, planned.identity) +
                         "; the plan of shards belongs to another experiment",
                 .where = planned.config.name(),
                 .expected = "the inputs, the model and the result options of the plan",
                 .found = describe_differences(whole, planned.identity),
                 .hint = "give the options of the plan, or plan in another cache directory"});
  }
  const std::string model = planned.identity.model;
  planned.identity = shard.plan.identity(stream, shard.index);
  planned.identity.model = model;
  planned.scan = shard.scans[stream];
  planned.field_blocks = shard.field_blocks[stream];
  planned.sharded = true;
  if (store.chunk_size > 0) return;
  planned.chunk_rows = shard.plan.streams[stream].chunk_rows;
  if (planned.chunk_rows > 0)
    planned.chunk_reason = "chunk_size auto: as the plan of the shards says";
}

}  // namespace

std::vector<CombinePlan> plan_combined_matrices(const RunConfig& config,
                                                const std::vector<StreamPlan>& streams) {
  std::vector<CombinePlan> plans;
  for (const CombineConfig& combine : config.combine) {
    const std::string name = combined_name(combine);
    plans.push_back({.name = name,
                     .streams = streams_of(config, combine),
                     .path = final_path(config.store.matrix_dir(), name)});
    check_pooled(plans.back(), streams);
    check_equal_rows(plans.back(), streams);
  }
  return plans;
}

StreamPlan begin_stream_plan(const RunConfig& config, const StreamConfig& stream,
                             const OpenedModel& model) {
  StreamPlan planned;
  planned.config = stream;
  planned.effective = effective_result(model.directory, stream.result);
  planned.position_limit = model.directory.position_limit;
  planned.model_path = model.directory.path;
  planned.model_files = model.files;
  planned.final_path = final_path_of(config, stream.name());
  return planned;
}

void protect_inputs(const RunConfig& config, OutputGuard& guard) {
  guard.protect(config.config_path, "the config file");
  guard.protect(config.store.final_format.ranges_file, "the file of the ranges");
  for (const StreamConfig& stream : config.streams) {
    for (const std::string& path : input_files(stream.input)) guard.protect(path, "an input");
  }
}

void check_log(const RunConfig& config) {
  OutputGuard guard(config.store.overwrite);
  protect_inputs(config, guard);
  const std::string path = log_path(config);
  guard.check_log(path);
  const bool of_new_cache = parent_directory(path) == config.store.cache_dir &&
                            !path_exists(config.store.cache_dir, "io.stat");
  if (!of_new_cache) RunLog::check_file(path);
}

void check_outputs(const RunConfig& config, OutputGuard guard) {
  protect_inputs(config, guard);
  for (const StreamConfig& stream : config.streams) {
    const std::string path = final_path_of(config, stream.name());
    const bool filtered = stream.input.filter.any();
    for (const std::string& matrix : {path, standard_path_of(config.store, path, filtered)}) {
      guard.check_final(matrix);
      // remove_final() deletes this file even if the manifest does not name it.
      if (config.store.fresh)
        guard.check_beside(set_aside_path(matrix), is_foreign_set_aside(matrix));
    }
  }
  for (const CombineConfig& combine : config.combine)
    guard.check_final(final_path(config.store.matrix_dir(), combined_name(combine)));
  check_leavings(config.store, guard);
}

RunPlan make_plan(const RunConfig& config, PlanPurpose purpose, RunLog& log, const Shard* shard) {
  const bool encodes = purpose == PlanPurpose::kRun;
  const bool writes = purpose != PlanPurpose::kAudit;
  if (encodes) require_driver(config);
  const std::string& cache_dir = config.store.cache_dir;
  OutputGuard guard(config.store.overwrite);
  const std::optional<MemoryLimit> limit = memory_limit_of(config.hardware);
  Models models(RunFiles(cache_dir).model_hashes(), limit, log);
  RunPlan plan;
  // The models come first, because mistakes in config.json and the modules show at once, and the
  // inputs may take minutes to read. Mistakes in the tokenizer and in the shapes of weights show
  // when a worker loads the model; `encode preflight` finds them before a run.
  for (const StreamConfig& stream : config.streams) {
    const OpenedModel& model = models.open(stream.result);
    guard.protect(model.directory);
    plan.streams.push_back(begin_stream_plan(config, stream, model));
    models.warn(length_warnings(model.directory, stream.result));
    if (writes) log_prompt(stream, model.directory, log);
  }
  if (writes) {
    require_tables(config.store, plan.streams);
    check_outputs(config, std::move(guard));
    check_output_directories(plan.streams, plan.probed);
  }
  copy_standard_input(plan.streams, cache_dir, log);
  std::vector<ScannedInput> inputs = shard != nullptr
                                         ? scans_of_plan(*shard)
                                         : scan_inputs(plan.streams, config.store, purpose, log);

  RunGpu gpu(config.hardware);
  ChunkSizes chunk_sizes(config, gpu);
  for (size_t i = 0; i < plan.streams.size(); ++i) {
    StreamPlan& planned = plan.streams[i];
    planned.scan = std::move(inputs[i].scan);
    planned.rejected_path = std::move(inputs[i].rejected_path);
    const OpenedModel& model = models.open(config.streams[i].result);
    settle_settings(planned, model.directory, gpu, log);
    finish_stream_plan(planned, model);
    place_file_list(config.store, purpose, planned);
    if (shard != nullptr) take_shard(*shard, i, config.store, planned);
    if (planned.chunk_rows == 0) planned.chunk_rows = config.store.chunk_rows(planned.scan.rows);
    if (writes) require_columns(config.store, planned);
    if (encodes) {
      if (planned.chunk_reason.empty()) chunk_sizes.choose(model.directory, planned);
      warn_of_memory(planned, model.directory, limit, log);
    }
    if (take_earlier_name(config, planned))
      log.info(
          "earlier_name",
          fmt::format("{}: the result of an earlier version with these flags", planned.final_path),
          {{"stream", planned.config.name()}, {"path", planned.final_path}});
  }
  if (encodes) {
    if (const auto warning = disk_warning(check_disk(config, plan.streams)))
      log.warning("disk", *warning);
  }
  plan.combine = plan_combined_matrices(config, plan.streams);
  return plan;
}

}  // namespace encode
