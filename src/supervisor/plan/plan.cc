#include "supervisor/plan/plan.h"

#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

#include "encode/error.h"
#include "encode/tokenizer_file.h"

#include "base/file.h"
#include "base/json.h"
#include "base/units.h"
#include "fingerprint/fingerprint.h"
#include "supervisor/plan/input_scans.h"

namespace encode {
namespace {

struct OpenedModel {
  ModelDirectory directory;
  std::vector<FileHash> files;
};

// Returns the name and version of the library that tokenizes with a .model file, because the token
// ids may change with its version. Returns "" for other tokenizers.
std::string tokenizer_library(const ModelDirectory& directory) {
  const std::string file = find_tokenizer_file(directory.transformer_path);
  return is_sentencepiece_file(file) ? "sentencepiece " + sentencepiece_version() : "";
}

// Opens and hashes each model directory once, because most streams share one model.
class Models {
 public:
  Models(std::string hash_cache, RunLog& log) : hash_cache_(std::move(hash_cache)), log_(log) {}

  const OpenedModel& open(const ResultOptions& options) {
    const std::string path = resolve_model(options.model, options.revision);
    const auto known = models_.find(path);
    if (known != models_.end()) return known->second;
    OpenedModel model{open_model_directory(path), {}};
    int64_t bytes = 0;
    for (const ModelFile& file : model.directory.files) bytes += file.bytes;
    log_.info("model",
              fmt::format("model {}: {}, hidden size {}, {}, similarity {}", path,
                          model.directory.model_type, model.directory.hidden_size,
                          format_bytes(bytes), model.directory.similarity),
              {{"path", path},
               {"model_type", model.directory.model_type},
               {"hidden_size", model.directory.hidden_size},
               {"bytes", bytes},
               {"similarity", model.directory.similarity}});
    warn(model.directory.warnings);
    model.files = hash_model_files(model.directory, hash_cache_);
    return models_.emplace(path, std::move(model)).first->second;
  }

  // Logs each warning once, even if it applies to several streams.
  void warn(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
      if (warned_.insert(warning).second) log_.warning("model", warning);
    }
  }

 private:
  std::string hash_cache_;
  RunLog& log_;
  std::set<std::string> warned_;
  std::map<std::string, OpenedModel> models_;
};

std::vector<CombinePlan> plan_combined(const RunConfig& config,
                                       const std::vector<StreamPlan>& streams) {
  std::vector<CombinePlan> plans;
  for (const CombineConfig& combine : config.combine) {
    CombinePlan plan;
    plan.name = combined_name(combine);
    plan.path = final_path(config.store.cache_dir, plan.name);
    for (const std::string& stream : combine.streams) {
      for (size_t i = 0; i < streams.size(); ++i) {
        const StreamConfig& candidate = streams[i].config;
        if (candidate.split == combine.split && candidate.stream == stream)
          plan.streams.push_back(i);
      }
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

void check_equal_rows(const CombinePlan& combine, const std::vector<StreamPlan>& streams) {
  const StreamPlan& first = streams[combine.streams.front()];
  for (const size_t i : combine.streams) {
    const StreamPlan& other = streams[i];
    if (other.scan.rows == first.scan.rows) continue;
    throw Error(
        {.exit_code = ExitCode::kData,
         .code = "combine.rows",
         .what = fmt::format("the streams of {} have different numbers of rows", combine.name),
         .where = other.config.input.path,
         .expected = fmt::format("{} rows, as in {}", format_count(first.scan.rows),
                                 first.config.input.path),
         .found = fmt::format("{} rows ({} rejected of {})", format_count(other.scan.rows),
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
    throw Error({.exit_code = ExitCode::kConfig,
                 .code = "combine.pooling",
                 .what = "token embeddings cannot be combined",
                 .where = combine.name,
                 .expected = "streams with one vector per row",
                 .found = stream.config.name() + " with pooling: none",
                 .hint = "choose a pooling, or remove 'combine'"});
  }
}

// Throws if the stream has a prompt and rows of token ids. Rows of token ids are encoded as they
// are, so a prompt cannot be put before them.
void check_prompt(const StreamPlan& stream) {
  if (stream.scan.tokenized == 0 || stream.effective.prompt.empty()) return;
  throw Error(
      {.exit_code = ExitCode::kConfig,
       .code = "text.prompt_and_ids",
       .what = "a prompt cannot be put before token ids",
       .where = stream.config.input.path,
       .expected = "texts, or no prompt",
       .found = fmt::format("{} rows of token ids, and the prompt '{}'",
                            format_count(stream.scan.tokenized), preview(stream.effective.prompt)),
       .hint = "put the prompt's ids into the rows and set prompt: \"\""});
}

}  // namespace

std::string combined_name(const CombineConfig& combine) {
  return combine.split.empty() ? "combined" : combine.split + "_combined";
}

std::string final_path_of(const RunConfig& config, const std::string& stream_name) {
  return config.store.output.empty() ? final_path(config.store.cache_dir, stream_name)
                                     : config.store.output;
}

RunPlan make_plan(const RunConfig& config, PlanPurpose purpose, RunLog& log) {
  const std::string& cache_dir = config.store.cache_dir;
  Models models(cache_dir + "/model_hashes.json", log);
  RunPlan plan;
  // The models come first, because a mistake in a model shows at once, and the inputs may take
  // minutes to read.
  for (const StreamConfig& stream : config.streams) {
    const OpenedModel& model = models.open(stream.result);
    StreamPlan& planned = plan.streams.emplace_back();
    planned.config = stream;
    planned.effective = effective_result(model.directory, stream.result);
    planned.model_path = model.directory.path;
    models.warn(length_warnings(model.directory, stream.result));
    planned.final_path = final_path_of(config, stream.name());
    if (stream.input.path == "-") {
      planned.config.input =
          spool_standard_input(stream.input, fmt::format("{}/{}.stdin", cache_dir, stream.name()));
    }
  }
  std::vector<StreamConfig> streams;
  for (const StreamPlan& stream : plan.streams) streams.push_back(stream.config);
  std::vector<ScannedInput> inputs =
      scan_inputs(streams, purpose == PlanPurpose::kRun ? cache_dir : "", log);

  for (size_t i = 0; i < plan.streams.size(); ++i) {
    StreamPlan& planned = plan.streams[i];
    planned.scan = std::move(inputs[i].scan);
    planned.rejected_path = std::move(inputs[i].rejected_path);
    check_prompt(planned);
    const OpenedModel& model = models.open(config.streams[i].result);
    const Fingerprint fingerprint = {.input = planned.config.input,
                                     .input_bytes = planned.scan.file_bytes,
                                     .input_sha256 = planned.scan.sha256,
                                     .model_files = model.files,
                                     .result = planned.effective,
                                     .tokenizer_library = tokenizer_library(model.directory)};
    planned.identity = {.name = planned.config.name(),
                        .fingerprint = to_text(fingerprint),
                        .rows = planned.scan.rows,
                        .dim = planned.effective.dim,
                        .token_embeddings = planned.effective.token_embeddings()};
  }
  plan.combine = plan_combined(config, plan.streams);
  for (const CombinePlan& combine : plan.combine) {
    check_pooled(combine, plan.streams);
    check_equal_rows(combine, plan.streams);
  }
  return plan;
}

}  // namespace encode
