#include "search/query_vectors.h"

#include <fmt/format.h>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"
#include "encode/text.h"

#include "base/file.h"
#include "base/json.h"
#include "base/npy_reader.h"
#include "base/scratch_folder.h"
#include "base/units.h"
#include "base/utf8.h"
#include "model_dir/hash_cache.h"
#include "run_plan/run_devices.h"
#include "store/run_files.h"

namespace encode {
namespace {

constexpr int64_t kMaxQueryBytes = 64 << 10;  // the most bytes of a query in a file

Error query_error(std::string what, std::string where, std::string found) {
  return Error({.code = "search.query",
                .what = std::move(what),
                .where = std::move(where),
                .expected = fmt::format("1 to {} texts of UTF-8", format_count(kMaxQueries)),
                .found = std::move(found),
                .hint = "give queries as arguments, or one on each line of --queries FILE"});
}

void check_count(const std::vector<std::string>& queries, const std::string& where) {
  if (!queries.empty() && std::ssize(queries) <= kMaxQueries) return;
  throw query_error(queries.empty() ? "there is no query" : "there are too many queries", where,
                    queries.empty() ? "none" : "at least " + format_count(std::ssize(queries)));
}

std::vector<std::string> read_lines(const InputOptions& options, const std::string& where) {
  std::vector<std::string> queries;
  const std::unique_ptr<TextReader> reader = open_texts(options);
  for (Text text; std::ssize(queries) <= kMaxQueries && reader->next(text);)
    queries.push_back(text.utf8);
  check_count(queries, where);
  return queries;
}

// Saves the hashes of the model files, so that the run need not hash them again.
void remember(const std::vector<FileHash>& files, const std::string& cache_dir) {
  HashCache cache(RunFiles(cache_dir).model_hashes(), /*min_age_ns=*/0);
  for (const FileHash& file : files) {
    if (file.settled_key) cache.store(*file.settled_key, file.sha256);
  }
  cache.save();
}

std::string json_lines(const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& text : texts) lines += Json{{"text", text}}.dump() + "\n";
  return lines;
}

// Returns the config of a run that writes the vectors of `folder`/queries.jsonl to
// `folder`/queries.npy.
RunConfig run_config(const QueryJob& job, const std::string& folder) {
  RunConfig config;
  StreamConfig& stream = config.streams.emplace_back();
  stream.stream = "queries";
  stream.input.path = folder + "/queries.jsonl";
  stream.input.field = "text";
  stream.result = job.result;
  stream.speed.threads = job.threads;
  config.store.cache_dir = folder + "/cache";
  config.store.output = folder + "/queries.npy";
  config.store.use_chunked_encoding = false;
  config.hardware = one_device(job.hardware);
  config.log = {.level = "error", .file = "", .json = false, .progress = false};
  return config;
}

}  // namespace

std::vector<std::string> read_queries(const QuerySource& source) {
  if (source.texts.empty()) {
    InputOptions options;
    options.path = source.file;
    options.format = TextFormat::kLines;
    options.empty_row = EmptyRowPolicy::kError;
    options.utf8 = Utf8Policy::kError;
    options.max_row_bytes = kMaxQueryBytes;
    if (source.file != "-") return read_lines(options, source.file);
    const ScratchFolder folder(temporary_place(), "queries");
    return read_lines(spool_standard_input(options, folder.path() + "/standard-input").options,
                      "standard input");
  }
  check_count(source.texts, "command line");
  for (const std::string& text : source.texts) {
    if (text.empty()) throw query_error("a query is empty", "command line", "no text");
    if (!is_valid_utf8(text))
      throw query_error("a query is not UTF-8", "command line", fmt::format("'{}'", preview(text)));
  }
  return source.texts;
}

std::string prompt_text(const QueryPrompt& prompt, const ModelDirectory& directory,
                        const std::string& of_run) {
  ResultOptions options;
  options.prompt = prompt.text;
  options.prompt_name = prompt.name;
  if (!prompt.text && !prompt.name) {
    if (directory.prompts.count("query") == 0) return of_run;
    options.prompt_name = "query";
  }
  return effective_result(directory, options).prompt;
}

QueryVectors encode_queries(const QueryJob& job, const RunEnvironment& environment) {
  const StopSignal stop;  // made first, so that no signal leaves the folder behind
  const ScratchFolder folder(temporary_place(), "search");
  const RunConfig config = run_config(job, folder.path());
  create_directories_durably(config.store.cache_dir);
  remember(job.model_files, config.store.cache_dir);
  write_file_without_sync(config.streams.front().input.path, json_lines(job.texts));
  RunEnvironment stoppable = environment;
  stoppable.stop = &stop;
  Terminal silent(-1);
  QueryVectors vectors;
  vectors.stopped_by = run_experiment(config, stoppable, silent, silent).stopped_by;
  if (vectors.stopped_by != 0) return vectors;
  NpyReader reader(config.store.output);
  const std::span<const float> values = reader.next(reader.rows());
  vectors.values.assign(values.begin(), values.end());
  if (const std::optional<Manifest> manifest = read_manifest(config.store.output))
    vectors.truncated_rows = manifest->stats.truncated_rows;
  return vectors;
}

}  // namespace encode
